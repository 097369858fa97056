package report_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/fencesim/fencesim/catalog"
	"github.com/fencesim/fencesim/model"
	"github.com/fencesim/fencesim/report"
)

// viewed is a scenario of the catalog without a run.
func viewed(t testing.TB, name string) report.Input {
	t.Helper()
	e, _ := catalog.Get(name)
	sc, err := model.Parse(e.File, e.Source)
	if err != nil {
		t.Fatal(err)
	}
	in, err := report.NewInput(sc, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// serve serves a viewer on a free port.
func serve(t testing.TB, in report.Input) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	s := &http.Server{Handler: report.NewViewer(in).Handler([]string{host}), MaxHeaderBytes: 8 << 20, ReadHeaderTimeout: time.Minute}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return "http://" + host
}

// TestView: in a browser every enabled transition is a link to the run that is one step
// longer, back is undo, another machine can be chosen, and what the page shows is what a
// replay of its address has.
func TestView(t *testing.T) {
	b := newBrowser(t)
	in := viewed(t, "example-next-buffer")
	at := serve(t, in)
	b.open(t, at+"/")
	var code []int
	where := func() {
		t.Helper()
		b.until(t, `location.pathname === "/run/-/lag-1/all/`+report.FormatCode(code)+`" && document.querySelector("[data-run=given] input[type=range]").max === "`+strconv.Itoa(len(code))+`"`)
		run, err := in.With(code, "steps", -1)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, b, run, len(code))
	}
	where()
	for step := range 7 {
		links := eval[int](t, b, `document.querySelectorAll("[data-run=given] .next a").length`)
		if links == 0 {
			t.Fatalf("step %d: nothing to follow", step)
		}
		b.run(t, chromedp.Evaluate(`{const l = document.querySelectorAll("[data-run=given] .next a"); l[l.length - 1].click()}`, nil))
		code = append(code, links-1)
		where()
	}
	b.keep(t, "view-next-buffer")
	for range 3 {
		b.run(t, chromedp.Evaluate(`history.back()`, nil))
		code = code[:len(code)-1]
		where()
	}
	// The form: explore finds the hang, and on another machine there is none.
	again := func(machine, want string) {
		t.Helper()
		b.run(t, chromedp.SetValue(`select[name=machine]`, machine), chromedp.SetValue(`select[name=run]`, "explore"), chromedp.Submit(`.live form`))
		b.until(t, `location.pathname.startsWith("/run/-/`+machine+`/") && document.documentElement.dataset.ready === "1" && document.querySelector("main").textContent.includes("`+want+`")`)
	}
	again("lag-1", "Who waits for whom")
	if v := eval[string](t, b, `document.getElementById("verdict").textContent`); v != "hang" {
		t.Errorf("explored on lag-1: %s, want hang", v)
	}
	again("lag-0", "explored under")
	if m := eval[string](t, b, `document.querySelector(".message").textContent`); !strings.Contains(m, ": ok: ") {
		t.Errorf("explored on lag-0: %s, want ok", m)
	}
	b.quiet(t, at+"/")
}

// TestViewReproducer: the viewer of the reported hang opens at the end of its run, and
// the page of a long run can be stepped too.
func TestViewReproducer(t *testing.T) {
	for name, in := range map[string]report.Input{"reproducer": explored(t, "mlx-independent-reductions"), "long": long(t)} {
		b := newBrowser(t)
		at := serve(t, in)
		b.open(t, at+"/")
		agree(t, b, in, len(in.Choices))
		b.keep(t, "view-"+name)
		half := len(in.Choices) / 2
		d, m := in.Scenario.Effective().String(), in.Scenario.Machine.Name()
		rank := "all"
		if in.Trace.Rank >= 0 {
			rank = strconv.Itoa(in.Trace.Rank)
		}
		b.open(t, at+"/run/"+d+"/"+m+"/"+rank+"/"+report.FormatCode(in.Choices[:half]))
		agree(t, b, in, half)
		b.quiet(t, at+"/")
	}
}

// TestViewRefuses: other hosts, other origins, other methods and addresses that are no runs
// are refused, and nothing is executed from or framed by another site.
func TestViewRefuses(t *testing.T) {
	h := report.NewViewer(viewed(t, "example-one-slot")).Handler([]string{"localhost:80", "127.0.0.1:80"})
	for _, tc := range []struct {
		name, method, path string
		header             map[string]string
		want               int
	}{
		{"itself", "GET", "/run/-/one-slot/all/", nil, 200},
		{"a step", "GET", "/run/-/one-slot/all/0:2", nil, 200},
		{"root", "GET", "/", nil, 303},
		{"another host", "GET", "/", map[string]string{"Host": "evil.example:80"}, 421},
		{"no port", "GET", "/", map[string]string{"Host": "localhost"}, 421},
		{"another origin", "GET", "/run/-/one-slot/all/", map[string]string{"Origin": "http://evil.example"}, 403},
		{"null origin", "GET", "/run/-/one-slot/all/", map[string]string{"Origin": "null"}, 403},
		{"another port", "GET", "/run/-/one-slot/all/", map[string]string{"Origin": "http://localhost:81"}, 403},
		{"own origin", "GET", "/run/-/one-slot/all/", map[string]string{"Origin": "http://localhost:80"}, 200},
		{"cross-site", "GET", "/choose?machine=ideal&run=explore&seed=1&code=all/", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"same-site", "GET", "/", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"post", "POST", "/choose", nil, 405},
		{"no such choice", "GET", "/run/-/one-slot/all/99", nil, 404},
		{"no code", "GET", "/run/-/one-slot/all/x", nil, 404},
		{"too long", "GET", "/run/-/one-slot/all/0:99999999", nil, 404},
		{"no machine", "GET", "/run/-/nothing/all/", nil, 404},
		{"a discipline", "GET", "/run/count/one-slot/all/", nil, 404},
		{"no rank", "GET", "/run/-/one-slot/7/", nil, 404},
		{"nothing there", "GET", "/etc/passwd", nil, 404},
		{"choose nonsense", "GET", "/choose?machine=ideal&run=nonsense&seed=1&code=all/", nil, 400},
		{"choose", "GET", "/choose?machine=ideal&run=laziest&seed=1&code=all/", nil, 303},
		{"explore", "GET", "/choose?machine=one-slot&run=explore&seed=1&code=all/0", nil, 303},
	} {
		r := httptest.NewRequest(tc.method, tc.path, nil)
		r.Host = "localhost:80"
		for k, v := range tc.header {
			if k == "Host" {
				r.Host = v
			} else {
				r.Header.Set(k, v)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != tc.want {
			t.Errorf("%s: status %d, want %d: %s", tc.name, w.Code, tc.want, w.Body.String()[:min(200, w.Body.Len())])
		}
		if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", tc.name, csp)
		}
	}
}

// TestViewParallel: pages do not disturb each other.
func TestViewParallel(t *testing.T) {
	at := serve(t, viewed(t, "example-next-buffer"))
	get := func(path string) string {
		r, err := http.Get(at + path)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return string(b)
	}
	paths := []string{"/run/-/lag-1/all/", "/run/-/lag-0/all/0:4", "/run/-/ideal/all/0:2", "/run/-/lag-1/all/0:3", "/choose?machine=lag-2&run=laziest&seed=1&code=all/"}
	want := map[string]string{}
	for _, p := range paths {
		want[p] = get(p)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if p := paths[i%len(paths)]; get(p) != want[p] {
				t.Errorf("%s differs when asked for beside others", p)
			}
		})
	}
	wg.Wait()
}
