package browser

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/millrace/millrace/internal/testkit"
)

// within is how long anything may take on a machine that is busy with other tests.
const within = 60 * time.Second

// endChromium ends the browser, once there is one.
var endChromium = func() {}

// chromium is the one browser that all visitors share: to start one takes longer than
// most of the tests.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := testkit.Program("chromium")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		// the profile is chromedp's own, which it removes once nobody writes there any more
		chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("host-resolver-rules",
			"MAP *.example.com 127.0.0.1, MAP *.example.net 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-features", "Translate,HttpsUpgrades,HttpsFirstBalancedModeAutoEnable"),
		chromedp.Flag("no-proxy-server", true), chromedp.WindowSize(1200, 800),
	)
	allocator, release := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithLogf(func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "Chromium: "+format+"\n", args...)
	}))
	endChromium = func() { cancel(); release() }
	// Its first tab stays empty: a browser whose last tab is closed ends.
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("starting Chromium: %w", err)
	}
	return ctx, nil
})

// visitor is somebody whose cookies, storage and cache nobody else has, and the tab
// they look at.
type visitor struct {
	t   *testing.T
	tab context.Context //nolint:containedctx // chromedp keeps the tab there
}

// newVisitor opens a window, which closes with the test.
func newVisitor(t *testing.T) *visitor {
	t.Helper()
	if testing.Short() {
		t.Skip("left out under -short: needs Chromium")
	}
	browser, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	tab, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(tab); err != nil {
		t.Fatalf("opening a window: %v", err)
	}
	v := &visitor{t: t, tab: tab}
	v.do(chromedp.EmulateViewport(1200, 800), command(page.BringToFront, cdp.Empty{}))
	return v
}

// do carries out actions in the tab.
func (v *visitor) do(actions ...chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, within)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		v.t.Fatalf("in the browser: %v", err)
	}
}

// command is an action that is one command of the protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, c, params)
		return chromedp.Void{}, err
	}
}

// open follows an address that is typed.
func (v *visitor) open(address string) { v.t.Helper(); v.do(chromedp.Navigate(address)) }

// run runs JavaScript in the page, and waits for its promise.
func (v *visitor) run(script string) {
	v.t.Helper()
	v.do(chromedp.Evaluate[chromedp.Void](script, chromedp.EvalAwaitPromise))
}

// get returns what an expression is in the page.
func get[T any](v *visitor, expression string) T {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, within)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		v.t.Fatalf("reading %s: %v", expression, err)
	}
	return value
}

// atStart has every document of the tab run JavaScript before its own.
func (v *visitor) atStart(script string) {
	v.t.Helper()
	v.do(command(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script}))
}

// click clicks an element that leads nowhere.
func (v *visitor) click(selector string) { v.t.Helper(); v.do(chromedp.Click(chromedp.CSS(selector))) }

// follow clicks a link and waits for the page that it leads to: whatever is asked of a
// tab before is asked of the page that is just being left.
func (v *visitor) follow(selector string) {
	v.t.Helper()
	v.leave(chromedp.Click(chromedp.CSS(selector)))
}

// leave does what leads to another page, and waits for that.
func (v *visitor) leave(by chromedp.Action[chromedp.Void]) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, within)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, by); err != nil {
		v.t.Fatalf("leaving a page: %v", err)
	}
}

// middle clicks an element with the middle button.
func (v *visitor) middle(selector string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.tab, within)
	defer cancel()
	nodes, err := chromedp.Run(ctx, chromedp.Nodes(chromedp.CSS(selector)))
	if err != nil || len(nodes) == 0 {
		v.t.Fatalf("%d elements %s, error %v", len(nodes), selector, err)
	}
	v.do(chromedp.MouseClickNode(nodes[0], chromedp.ButtonMiddle))
}

// press presses Enter on an element.
func (v *visitor) press(selector string) {
	v.t.Helper()
	v.do(chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent("\r"))
}

// back goes back in the history, as the button does.
func (v *visitor) back() { v.t.Helper(); v.run("setTimeout(() => history.back(), 0)") }

// lookAway has the visitor look at something else, and lookBack at the page again.
// Tabs without a window never cover each other, so it is the page that is told.
func (v *visitor) lookAway() { v.t.Helper(); v.see("hidden") }

func (v *visitor) lookBack() { v.t.Helper(); v.see("visible") }

func (v *visitor) see(state string) {
	v.t.Helper()
	v.run(`Object.defineProperty(document, "visibilityState", {configurable: true, value: "` + state + `"});
		Object.defineProperty(document, "hidden", {configurable: true, value: document.visibilityState === "hidden"});
		document.dispatchEvent(new Event("visibilitychange", {bubbles: true}))`)
}

// close closes the tab as a person does.
func (v *visitor) close() {
	v.t.Helper()
	v.do(command(page.Close, cdp.Empty{}))
}
