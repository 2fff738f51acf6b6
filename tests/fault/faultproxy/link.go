package faultproxy

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"time"
)

// link is one connection through the proxy. requests and answers each have a
// goroutine of their own.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	once           sync.Once
	gone           chan struct{} // closed by reset

	mu     sync.Mutex
	target Rule  // of the request that was picked; Pass when none is
	passed int64 // bytes in the direction that target counts
}

// reset ends both connections at once, without a proper goodbye.
func (l *link) reset() {
	l.once.Do(func() {
		close(l.gone)
		l.client.SetLinger(0)
		l.server.SetLinger(0)
		l.client.Close()
		l.server.Close()
	})
}

// end closes what is left after both directions have ended by themselves.
func (l *link) end() {
	l.client.Close()
	l.server.Close()
}

// forwardRequests forwards what the client sends.
func (l *link) forwardRequests() {
	buf, tail := make([]byte, chunkBytes), []byte(nil)
	for {
		n, err := l.client.Read(buf)
		if n > 0 {
			tail = l.pick(append(tail, buf[:n]...))
			if !l.wait() || !l.forward(buf[:n]) {
				return
			}
		}
		if err != nil {
			l.server.CloseWrite()
			return
		}
	}
}

// pick notes when the data holds a request that the rule is for, and returns the
// end of it, in which the beginning of the text may stand.
func (l *link) pick(data []byte) (tail []byte) {
	rule, _ := l.proxy.current()
	if !rule.Kind.aims() || !bytes.Contains(data, []byte(rule.Match)) {
		keep := min(len(data), max(0, len(rule.Match)-1))
		return append([]byte(nil), data[len(data)-keep:]...)
	}
	if rule.Kind == Watch {
		l.proxy.strike(Watch)
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.target.Kind == Pass && l.proxy.strikeLater(rule) {
		l.target, l.passed = rule, 0
	}
	return nil
}

// strikeLater reports whether the rule still holds; the strike itself is counted
// when it happens.
func (p *Proxy) strikeLater(r Rule) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rule == r && p.left != 0
}

// forward sends data to the server, up to where the rule cuts.
func (l *link) forward(data []byte) bool {
	rule, allowed := l.allowed(int64(len(data)), CutRequest, HalfClose)
	if allowed < int64(len(data)) && l.proxy.strike(rule.Kind) {
		l.server.Write(data[:allowed])
		if rule.Kind == HalfClose {
			l.server.CloseWrite()
		} else {
			l.reset()
		}
		return false
	}
	_, err := l.server.Write(data)
	return err == nil
}

// allowed counts n bytes when the request was picked for one of the kinds, and
// returns how many of them may pass.
func (l *link) allowed(n int64, kinds ...Kind) (Rule, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range kinds {
		if l.target.Kind == k {
			before := l.passed
			l.passed += n
			if l.passed > l.target.Bytes {
				rule := l.target
				l.target = Rule{}
				return rule, max(0, rule.Bytes-before)
			}
		}
	}
	return Rule{}, n
}

// wait holds data back for as long as the rule says. It reports false when the
// connection is gone meanwhile.
func (l *link) wait() bool {
	rule, changed := l.proxy.current()
	for rule.Kind == BlackHole {
		select {
		case <-changed:
		case <-l.gone:
			return false
		}
		rule, changed = l.proxy.current()
	}
	if rule.Kind != Delay {
		return true
	}
	t := time.NewTimer(rule.Delay)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.gone:
		return false
	}
}

// forwardResponses forwards what the server sends. Of a response that is to be lost it holds
// back what may be the last byte, until more comes or the server stays silent.
func (l *link) forwardResponses() {
	buf := make([]byte, chunkBytes)
	var held []byte
	for {
		if len(held) > 0 {
			l.server.SetReadDeadline(time.Now().Add(silence))
		} else {
			l.server.SetReadDeadline(time.Time{})
		}
		n, err := l.server.Read(buf)
		if e, ok := err.(net.Error); ok && e.Timeout() { //nolint:errorlint // of the connection itself
			if l.lose() {
				return
			}
			err = nil
		}
		data := slices.Concat(held, buf[:n])
		held = nil
		if d := l.dropping(); err == nil && n > 0 && d != nil && data[len(data)-1] == d.Ends {
			held = []byte{data[len(data)-1]}
			data = data[:len(data)-1]
		}
		if len(data) > 0 && (!l.wait() || !l.deliver(data)) {
			return
		}
		if err != nil {
			l.client.CloseWrite()
			return
		}
	}
}

// dropping returns the rule by which the present answer is to be lost, or nil.
func (l *link) dropping() *Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.target.Kind != DropResponse {
		return nil
	}
	r := l.target
	return &r
}

// lose resets the connection instead of sending the end of a response. It reports
// false when the rule is over.
func (l *link) lose() bool {
	l.mu.Lock()
	l.target = Rule{}
	l.mu.Unlock()
	if !l.proxy.strike(DropResponse) {
		return false
	}
	l.reset()
	return true
}

// deliver sends data to the client, up to where the rule cuts.
func (l *link) deliver(data []byte) bool {
	_, allowed := l.allowed(int64(len(data)), CutResponse)
	if allowed < int64(len(data)) && l.proxy.strike(CutResponse) {
		l.client.Write(data[:allowed])
		l.reset()
		return false
	}
	_, err := l.client.Write(data)
	return err == nil
}
