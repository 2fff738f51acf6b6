package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 4 * time.Minute
	stopTimeout  = 10 * time.Second
)

// server is one program that is started, and stopped, and started again on the
// same port and files.
type server struct {
	name  string
	ready string         // the text in its log after which it serves
	halt  syscall.Signal // asks it to end in good order
	log   string         // file that keeps its output
	path  string
	args  []string
	as    *syscall.Credential // nil: as ourselves

	cmd    *exec.Cmd // nil while stopped
	output *watcher
	ended  chan struct{}
}

// start returns when the server serves.
func (s *server) start(ctx context.Context) error {
	if s.cmd != nil {
		return fmt.Errorf("%s runs already", s.name)
	}
	file, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	s.output = &watcher{file: file, want: []byte(s.ready), seen: make(chan struct{})}
	// The servers end by stop, in good order, not with the context.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.path, s.args...)
	cmd.Stdout, cmd.Stderr = s.output, s.output
	cmd.Dir = "/"
	cmd.SysProcAttr = dieWithParent(s.as)
	if err := cmd.Start(); err != nil {
		file.Close()
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	ended := make(chan struct{})
	s.cmd, s.ended = cmd, ended
	go func() {
		defer close(ended)
		defer file.Close()
		cmd.Wait()
	}()

	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case <-s.output.seen:
		return nil
	case <-ended:
		s.cmd = nil
		return fmt.Errorf("%s ended while starting: %s", s.name, s.output.tail())
	case <-timeout.C:
		err = fmt.Errorf("%s did not serve within %s: %s", s.name, startTimeout, s.output.tail())
	case <-ctx.Done():
		err = ctx.Err()
	}
	return errors.Join(err, s.kill())
}

// stop ends the server in good order, or with SIGKILL when that takes too long.
func (s *server) stop() error { return s.end(s.halt) }

// kill ends the server at once, as a power cut would.
func (s *server) kill() error { return s.end(syscall.SIGKILL) }

func (s *server) end(how syscall.Signal) error {
	if s.cmd == nil {
		return nil
	}
	s.cmd.Process.Signal(how)
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-s.ended:
	case <-timeout.C:
		if err := s.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("killing %s: %w", s.name, err)
		}
		<-s.ended
	}
	s.cmd = nil
	return nil
}

// watcher keeps a program's output in a file and tells when a text went by.
type watcher struct {
	file *os.File
	want []byte
	seen chan struct{}

	mu   sync.Mutex
	last []byte // the end of the output
	done bool
}

// Write implements io.Writer.
func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	const keep = 4096
	w.last = append(w.last, p...)
	if !w.done && bytes.Contains(w.last, w.want) {
		w.done = true
		close(w.seen)
	}
	if over := len(w.last) - keep; over > 0 {
		w.last = append(w.last[:0], w.last[over:]...)
	}
	return w.file.Write(p)
}

func (w *watcher) tail() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return tail(w.last)
}
