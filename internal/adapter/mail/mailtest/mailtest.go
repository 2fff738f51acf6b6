// Package mailtest is a mail server for tests: it speaks SMTP on a loopback port
// and keeps what it is sent.
package mailtest

import (
	"bufio"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/testkit"
)

// Mail is one that was taken.
type Mail struct {
	From, To string // of the envelope
	Header   mail.Header
	Subject  string // decoded
	Text     string // decoded
}

// Server is a mail server.
type Server struct {
	Addr string // host:port

	mu        sync.Mutex
	mails     []Mail
	rejection string
	tried     int
}

// New starts a server that ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Addr: ln.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				s.serve(c)
			})
		}
	})
	tb.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return s
}

// Reject has every recipient answered with a line such as "550 5.1.1 no such
// user"; an empty one takes mails again.
func (s *Server) Reject(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejection = line
}

// Mails returns what was taken so far.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// Tried returns how many recipients were named so far.
func (s *Server) Tried() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tried
}

// Await waits until n mails were taken and returns the last of them.
func (s *Server) Await(tb testing.TB, n int) Mail {
	tb.Helper()
	testkit.Eventually(tb, 30*time.Second, func() error {
		if got := len(s.Mails()); got < n {
			return fmt.Errorf("%d mails have come, want %d", got, n)
		}
		return nil
	})
	return s.Mails()[n-1]
}

// serve speaks as much SMTP as a client needs.
func (s *Server) serve(c net.Conn) {
	in := textproto.NewReader(bufio.NewReader(c))
	say := func(line string) { fmt.Fprintf(c, "%s\r\n", line) }
	say("220 test")
	var m Mail
	for {
		line, err := in.ReadLine()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, ":")
		switch strings.ToUpper(strings.Fields(verb + " .")[0]) {
		case "EHLO":
			say("250-test")
			say("250-ENHANCEDSTATUSCODES")
			say("250 8BITMIME")
		case "MAIL":
			m = Mail{From: address(rest)}
			say("250 ok")
		case "RCPT":
			m.To = address(rest)
			say(s.recipient())
		case "DATA":
			say("354 go on")
			if err := s.take(m, in.DotReader()); err != nil {
				say("554 " + err.Error())
				continue
			}
			say("250 ok")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *Server) recipient() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried++
	if s.rejection != "" {
		return s.rejection
	}
	return "250 ok"
}

func (s *Server) take(m Mail, data io.Reader) error {
	msg, err := mail.ReadMessage(data)
	if err != nil {
		return err
	}
	m.Header = msg.Header
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject")); err != nil {
		return err
	}
	text, err := io.ReadAll(quotedprintable.NewReader(msg.Body))
	if err != nil {
		return err
	}
	m.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	return nil
}

func address(path string) string {
	_, path, _ = strings.Cut(path, "<")
	path, _, _ = strings.Cut(path, ">")
	return path
}
