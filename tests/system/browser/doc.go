// Package browser holds tests of the tracker in a real Chromium: of what it sends,
// against a host that records it, and of what a query shows then, against the whole
// product. What other people wrote for pages that ask for feature flags is tested here too.
//
// Chromium is Debian's; where it is missing it is installed. Names below example.com
// and example.net are this machine's loopback to it, so that pages have origins of
// their own; nothing is ever asked of another machine.
package browser
