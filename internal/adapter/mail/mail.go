// Package mail sends the few mails that people get from the service: invitations,
// permissions to set a new password and notices.
//
// It promises that whoever sends one never waits for a mail server, that a mail
// is tried again for some minutes while the server is away or asks to come later,
// and that no name or address can add a header or a recipient. It refuses to
// promise delivery: mails that wait are lost when the process dies, and every
// mail here is one that its reader can ask for again. Addresses and texts are
// never logged.
package mail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	gomail "github.com/wneessen/go-mail"

	"github.com/millrace/millrace/internal/contract/id"
)

// Config says which server takes the mails. There is no mail without Addr.
type Config struct {
	Addr     string // host:port
	TLS      string // "starttls", "tls" or "none"
	User     string // empty for no authentication
	Password string
	From     string // an address, with a name or without
}

// Deps are what a sender works with.
type Deps struct {
	Log     *slog.Logger
	Metrics prometheus.Registerer
}

// dialTime bounds one conversation with the server.
const dialTime = 20 * time.Second

// Sender sends mails while Run runs. It is safe for concurrent use.
type Sender struct {
	deps    Deps
	metrics metrics
	from    string
	domain  string // of from
	queue   chan *gomail.Msg
	deliver func(ctx context.Context, msg *gomail.Msg) error
}

// New returns a sender; it connects to nothing.
func New(cfg Config, deps Deps) (*Sender, error) {
	from, err := mail.ParseAddress(cfg.From)
	if err != nil {
		return nil, fmt.Errorf("reading the sender's address: %w", err)
	}
	client, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("preparing the mail client: %w", err)
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	return &Sender{
		deps: deps, metrics: newMetrics(deps.Metrics), from: cfg.From, domain: domain,
		queue: make(chan *gomail.Msg, maxWaiting),
		deliver: func(ctx context.Context, msg *gomail.Msg) error {
			ctx, cancel := context.WithTimeout(ctx, dialTime)
			defer cancel()
			return client.DialAndSendWithContext(ctx, msg)
		},
	}, nil
}

func newClient(cfg Config) (*gomail.Client, error) {
	host, portText, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, err
	}
	opts := []gomail.Option{gomail.WithPort(port), gomail.WithTimeout(dialTime)}
	switch cfg.TLS {
	case "tls":
		opts = append(opts, gomail.WithSSL())
	case "none":
		opts = append(opts, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		opts = append(opts, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if cfg.User != "" {
		// The library sends a password in the clear to no other machine than this.
		opts = append(opts, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(cfg.User),
			gomail.WithPassword(cfg.Password))
	}
	return gomail.NewClient(host, opts...)
}

var errFull = errors.New("the mail queue is full")

// Send has a mail of plain text sent to one address. It does not wait for the
// mail server; an error means that the mail will not be sent.
func (s *Sender) Send(_ context.Context, to, subject, text string) error {
	msg, err := s.message(to, subject, text)
	if err != nil {
		return err
	}
	select {
	case s.queue <- msg:
		return nil
	default:
		s.metrics.mails.WithLabelValues(resultDropped).Inc()
		return errFull
	}
}

func (s *Sender) message(to, subject, text string) (*gomail.Msg, error) {
	if strings.ContainsAny(to+subject, "\r\n") {
		return nil, errors.New("an address or a subject must be a single line")
	}
	msg := gomail.NewMsg()
	if err := msg.From(s.from); err != nil {
		return nil, fmt.Errorf("setting the sender: %w", err)
	}
	if err := msg.To(to); err != nil {
		return nil, errors.New("setting the recipient: not an address") // the library's text holds it
	}
	msg.Subject(subject)
	msg.SetDate()
	msg.SetMessageIDWithValue(strings.ToLower(id.New("mail")) + "@" + s.domain)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no vacation replies
	msg.SetBodyString(gomail.TypeTextPlain, text)
	return msg, nil
}
