package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"time"
)

// serveLoad sends requests to a server from a core that never sleeps. Waking a
// processor that has gone to sleep costs whoever wakes it several microseconds in
// a virtual machine, more than most requests do, and a fast server pays it less
// often than a slow one: its load is never idle. A broker on the same core gets its
// share of it from the scheduler.
func serveLoad(ctx context.Context, j job, say func(result) error) error {
	lines := make([]*line, j.Lines)
	for i := range lines {
		l, err := dial(ctx, j.Addr, j.requests())
		if err != nil {
			return err
		}
		lines[i] = l
	}
	defer func() {
		for _, l := range lines {
			l.file.Close()
		}
	}()
	runtime.LockOSThread()
	responses, begin := 0, time.Now()
	for ctx.Err() == nil && time.Since(begin) < j.For {
		const passes = 100 // between two looks at the clock
		for range passes {
			for _, l := range lines {
				answered, err := l.step()
				if err != nil {
					return err
				}
				if answered {
					responses++
				}
			}
		}
	}
	return say(result{Events: float64(responses * j.Batch), Seconds: time.Since(begin).Seconds()})
}

// trackRequest is a request as bytes.
func trackRequest(addr string, events int) []byte {
	body := trackBody(events, time.Now())
	return fmt.Appendf(nil,
		"POST /track?website_id=%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nX-Api-Key: "+
			"%s\r\nContent-Length: %d\r\n\r\n%s",
		benchWebsite, addr, benchKey, len(body), body)
}

// line is one connection: a request is sent, its response awaited, and again.
type line struct {
	file     *os.File
	fd       int
	request  *requests
	response int // bytes of a response; all are of one length
	sent     int
	got      int
	buf      []byte
}

// responseLength sends a first request and returns how many bytes its response has, as
// all others will.
func responseLength(conn net.Conn, request []byte) (int, error) {
	if _, err := conn.Write(request); err != nil {
		return 0, err
	}
	var raw bytes.Buffer
	response, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, err
	}
	return raw.Len(), goodResponse(raw.Bytes())
}

// dial connects, and sends one request to learn how long a response is.
func dial(ctx context.Context, addr string, request *requests) (*line, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	length, err := responseLength(conn, request.bytes)
	if err != nil {
		return nil, err
	}
	file, err := conn.(*net.TCPConn).File() // a copy of the descriptor
	if err != nil {
		return nil, err
	}
	l := &line{file: file, fd: int(file.Fd()), request: request, response: length, buf: make([]byte, length+1)}
	return l, syscall.SetNonblock(l.fd, true)
}

// step sends or receives what it can without waiting; answered says that a response is
// complete: the next request is on its way.
func (l *line) step() (answered bool, err error) {
	answered, err = l.move()
	if answered && err == nil {
		_, err = l.move()
	}
	return answered, err
}

// move is step, but leaves the next request to be sent.
func (l *line) move() (answered bool, err error) {
	if l.sent < len(l.request.bytes) {
		n, err := syscall.Write(l.fd, l.request.bytes[l.sent:])
		if n > 0 {
			l.sent += n
		}
		return false, unlessAgain(err)
	}
	n, err := syscall.Read(l.fd, l.buf[l.got:])
	if err != nil {
		return false, unlessAgain(err)
	}
	if l.got += n; n > 0 && l.got < l.response {
		return false, nil
	}
	if err := goodResponse(l.buf[:l.got]); err != nil || l.got != l.response {
		return false, errors.Join(err, fmt.Errorf("the server answers %d bytes", l.got))
	}
	l.sent, l.got = 0, 0
	l.request.next()
	return true, nil
}

func unlessAgain(err error) error {
	if err == syscall.EAGAIN || err == syscall.EINTR { //nolint:errorlint // numbers, as the system gives them
		return nil
	}
	return err
}
