package report_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with what it complained of and asked for.
type browser struct {
	context.Context

	mu       sync.Mutex
	problems []string // exceptions, console errors and warnings
	requests []string // addresses
}

// newBrowser starts Chromium, or skips the test in one line where there is none;
// FENCESIM_REQUIRE, a comma list or all, makes that a failure.
func newBrowser(t testing.TB) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		list := strings.Split(os.Getenv("FENCESIM_REQUIRE"), ",")
		if slices.Contains(list, "all") || slices.Contains(list, "chromium") {
			t.Fatal("no chromium, which FENCESIM_REQUIRE asks for")
		}
		t.Skip("no chromium: pages are not opened")
	}
	profile, err := os.MkdirTemp("", "fencesim-chromium")
	if err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1360, 900),
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	t.Cleanup(func() { // it may still write into its profile while it ends
		_ = chromedp.Cancel(ctx)
		for range 20 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	b := &browser{Context: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			b.problems = append(b.problems, "console: "+string(e.Type))
		case *log.EventEntryAdded:
			b.problems = append(b.problems, string(e.Entry.Level)+": "+e.Entry.Text+" "+e.Entry.URL)
		case *network.EventRequestWillBeSent:
			b.requests = append(b.requests, e.Request.URL)
		}
	})
	b.run(t, network.Enable(), log.Enable(), runtime.Enable())
	return b
}

func (b *browser) run(t testing.TB, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(b.Context, actions...); err != nil {
		t.Fatalf("chromium: %v; it said %q", err, b.problems)
	}
}

// open loads a page and waits until its script has drawn.
func (b *browser) open(t testing.TB, url string) {
	t.Helper()
	b.run(t, chromedp.EmulateViewport(1360, 900), chromedp.Navigate(url), chromedp.WaitReady(`html[data-ready="1"]`))
}

// eval gives the value of an expression.
func eval[T any](t testing.TB, b *browser, js string) T {
	t.Helper()
	var v T
	b.run(t, chromedp.Evaluate(js, &v))
	return v
}

// quiet fails if the page complained or asked for anything but pages under prefix.
func (b *browser) quiet(t testing.TB, prefix string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		t.Errorf("the page complained: %q", b.problems)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, prefix) && !strings.HasPrefix(r, "data:") {
			t.Errorf("the page asked for %s, which is not under %s", r, prefix)
		}
	}
}

// keep writes screenshots, light and dark, into the folder FENCESIM_ARTIFACTS.
func (b *browser) keep(t testing.TB, name string) {
	t.Helper()
	dir := os.Getenv("FENCESIM_ARTIFACTS")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		var png []byte
		media := emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}})
		b.run(t, media, chromedp.FullScreenshot(&png, 100))
		if err := os.WriteFile(filepath.Join(dir, name+"-"+scheme+".png"), png, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// firstPaint is the time in milliseconds from opening the page to its first paint with
// content.
func (b *browser) firstPaint(t testing.TB) float64 {
	t.Helper()
	var ms float64
	b.run(t, chromedp.Evaluate(`new Promise(done => new PerformanceObserver(l => {
		const e = l.getEntries().find(e => e.name === "first-contentful-paint");
		if (e) done(e.startTime);
	}).observe({type: "paint", buffered: true}))`, &ms, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return ms
}

// until waits for a condition of a page that may be loading another.
func (b *browser) until(t testing.TB, js string) {
	t.Helper()
	for range 600 {
		var ok bool
		if err := chromedp.Run(b.Context, chromedp.Evaluate(js, &ok)); err == nil && ok {
			return
		}
		if b.Err() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("it never came to: %s; the page complained of %q", js, b.problems)
}
