package report_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/fencesim/fencesim/report"
)

// The viewer answers every address and every form: with a page, with the address of one, or
// with one line that says what is wrong.
func FuzzView(f *testing.F) {
	for _, at := range []string{"/", "/run/-/lag-1/all/0:3,1", "/run/-/ideal/0/", "/run/count/lag-1/all/0", "/run/-/lag-1/all/9",
		"/choose?machine=lag-0&code=all/0,1&run=same&seed=1", "/choose?machine=ideal&code=all/&run=random&seed=7", "/choose?machine=lag-0&code=all/&run=explore&seed=0x1"} {
		f.Add(at)
	}
	const host = "127.0.0.1:8080"
	h := report.NewViewer(viewed(f, "example-next-buffer")).Handler([]string{host})
	f.Fuzz(func(t *testing.T, at string) {
		u, err := url.ParseRequestURI(at)
		if err != nil || u.Host != "" || !strings.HasPrefix(at, "/") || len(at) > 1<<10 || strings.Contains(at, "6777") {
			return // not what a browser sends; a code of millions of steps takes a second
		}
		get := func(at string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("GET", "http://"+host+"/", nil)
			r.URL.Path, r.URL.RawPath, r.URL.RawQuery = at, "", ""
			if v, err := url.ParseRequestURI(at); err == nil {
				r.URL.Path, r.URL.RawPath, r.URL.RawQuery = v.Path, v.RawPath, v.RawQuery
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		w := get(at)
		switch body := w.Body.String(); {
		case w.Code == 200 && !strings.HasPrefix(body, "<!"):
			t.Fatalf("%q: no page: %.200q", at, body)
		case w.Code == 303 && strings.HasPrefix(at, "/choose"):
			if to := get(w.Header().Get("Location")); to.Code != 200 {
				t.Fatalf("%q leads to %q, which is %d: %s", at, w.Header().Get("Location"), to.Code, to.Body)
			}
		case w.Code == 400 || w.Code == 404:
			if strings.Count(body, "\n") != 1 {
				t.Fatalf("%q: not one line: %q", at, body)
			}
		case w.Code >= 500:
			t.Fatalf("%q: %d %s", at, w.Code, body)
		}
	})
}
