package httpkit

import (
	"strings"
	"testing"
)

// What two servers may read differently is rejected, with a close: nothing that follows is
// taken for a request.
func TestARequestThatAnotherServerMayReadOtherwiseIsRejected(t *testing.T) {
	t.Parallel()
	const spaced = "Transfer-Encoding : chunked\r\n\r\n"
	const chunks = "1\r\na\r\n0\r\n\r\n"
	const post, get = "POST /echo HTTP/1.1\r\nHost: x\r\n", "GET /health HTTP/1.1\r\nHost: x\r\n"
	const next = get + "\r\n"
	for _, host := range []Host{Ingestion, Query} {
		addr := serve(t, newApp(t, Config{Host: host}))
		for name, text := range map[string]string{
			"a space before the colon": post + spaced + chunks,
			"a tab before the colon":   post + "Transfer-Encoding\t: chunked\r\n\r\n" + chunks,
			"in the first field": "POST /echo HTTP/1.1\r\nTransfer-Encoding : chunked\r\nHost: x\r\n\r\n" +
				chunks,
			"of a length": post + "Content-Length : 1\r\n\r\na",
			"in a preflight": "OPTIONS /echo HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\n" +
				spaced + chunks,
			"of a method that is not known": "BREW /echo HTTP/1.1\r\nHost: x\r\n" + spaced + chunks,
			"of the health check":           get + spaced + chunks,
			"a field that goes on":          post + "X-A: b\r\n Content-Length: 1\r\n\r\na",
			"a length beside chunks":        post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
			"two lengths":                   post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na",
			"chunks of chunks": post +
				"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
			"another encoding before":     post + "Transfer-Encoding: identity, chunked\r\n\r\n" + chunks,
			"an encoding that has no end": post + "Transfer-Encoding: identity\r\n\r\n",
			"the same of a GET":           get + "Transfer-Encoding: identity\r\n\r\n",
			"chunks of HTTP/1.0": "POST /echo HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n" +
				"Transfer-Encoding: chunked\r\n\r\n" + chunks,
			"two hosts":                             get + "Host: y\r\n\r\n",
			"the same host twice, in other letters": get + "host: x\r\n\r\n",
			"two hosts of HTTP/1.0": "GET /health HTTP/1.0\r\nHost: x\r\nHost: y\r\nConnection: " +
				"keep-alive\r\n\r\n",
			"no host":                                "GET /health HTTP/1.1\r\nX-A: b\r\n\r\n",
			"no field":                               "GET /health HTTP/1.1\r\n\r\n",
			"no host beside an address that has one": "GET http://x/health HTTP/1.1\r\nX-A: Host: x\r\n\r\n",
		} {
			responses := raw(t, addr, text+next)
			if len(responses) != 1 || responses[0].status != 400 || !responses[0].closes ||
				!strings.Contains(responses[0].body, "not valid HTTP") {
				t.Errorf("%s, on host %v: %+v", name, host, responses)
			}
		}
		for name, text := range map[string]string{
			"HTTP/1.0 without a host": "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
			"an expectation of HTTP/1.0": "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\n" +
				"Expect: 100-continue\r\nContent-Length: 1\r\n\r\na",
			"a host without a name": "GET /health HTTP/1.1\r\nHost:\r\n\r\n",
			"a colon in a value":    get + "X-A: Host : y\r\n\r\n",
			"a name that ends so":   get + "X-Host: y\r\nX-Transfer-Encoding: z\r\n\r\n",
			"chunks":                post + "Transfer-Encoding: chunked\r\n\r\n" + chunks,
		} {
			if responses := raw(t, addr, text+next); len(responses) != 2 || responses[0].status != 200 ||
				responses[1].status != 200 {
				t.Errorf("%s, on host %v: %+v", name, host, responses)
			}
		}
	}
}

// Programs that read until the end wait for it: they say so in letters of their own.
func TestAClientThatAsksForItGetsTheEndOfTheConnection(t *testing.T) {
	t.Parallel()
	addr := serve(t, newApp(t, Config{Host: Ingestion}))
	const get = "GET /health HTTP/1.1\r\nHost: x\r\n"
	for fields, want := range map[string]int{
		"Connection: close\r\n": 1, "Connection: Close\r\n": 1, "connection: TE, close\r\n": 1,
		"Connection: close\r\nConnection: TE\r\n": 1, "Connection:CLOSE ,TE\r\n": 1,
		"Connection: keep-alive\r\n": 2, "Connection: closed\r\n": 2, "X-Connection: close\r\n": 2, "": 2,
	} {
		responses := raw(t, addr, get+fields+"\r\n"+get+"\r\n")
		if len(responses) != want || responses[0].status != 200 || responses[0].closes != (want == 1) {
			t.Errorf("%q: %+v, want %d", fields, responses, want)
		}
	}
}
