package query

import (
	"github.com/millrace/millrace/internal/adapter/mail"
	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/api/management"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/platform/credential"
	"github.com/millrace/millrace/internal/platform/lifecycle"
	"github.com/millrace/millrace/internal/platform/telemetry"
	"github.com/millrace/millrace/internal/tenant/org"
	"github.com/millrace/millrace/internal/tenant/session"
)

// people are the services of those who sign in.
type people struct {
	sessions      *session.Service
	organizations *org.Service
	passwords     *org.Passwords // of accounts and of short links: they share the cores
	mailer        session.Mailer // nil without a mail server
	components    []lifecycle.Component
}

// newPeople puts the services together; without a mail server they send nothing.
func newPeople(s config.Settings, t *telemetry.Telemetry, db *store.Store) (*people, error) {
	p := &people{passwords: org.NewPasswords()}
	if s.Mail.SMTP.Addr != "" {
		password, err := credential.Secret("mail.smtp.password", s.Mail.SMTP.Password, s.Mail.SMTP.PasswordFile)
		if err != nil {
			return nil, err
		}
		sender, err := mail.New(mail.Config{
			Addr: s.Mail.SMTP.Addr, TLS: s.Mail.SMTP.TLS, User: s.Mail.SMTP.User, Password: password,
			From: s.Mail.From,
		}, mail.Deps{Log: t.Log, Metrics: t.Registry})
		if err != nil {
			return nil, err
		}
		p.mailer = sender
		p.components = append(p.components, lifecycle.Component{Name: "mail", Run: sender.Run})
	}
	p.sessions = session.New(session.Config{
		Lifetimes: session.Lifetimes{Idle: s.Session.Idle, Absolute: s.Session.Absolute},
		SignUp:    session.SignUp(s.Session.SignUp), PublicURL: s.Query.BaseURL(),
	}, session.Deps{
		Sessions: db, Devices: db, Accounts: db, Credentials: db, Attempts: db, Passwords: p.passwords,
		Mail: p.mailer, Log: t.Log, Metrics: t.Registry,
	})
	p.organizations = org.NewService(s.Query.BaseURL(), org.Deps{
		Store: db, Invitations: db, Ownership: db, Deletions: db,
		AnyoneCreates: session.SignUp(s.Session.SignUp) == session.SignUpOpen, Attempts: db, Mail: p.mailer,
	})
	// After the mail server's component, so that what it still mails at a stop is sent.
	p.components = append(p.components, lifecycle.Component{Name: "sessions", Run: p.sessions.Run})
	return p, nil
}

// management is what the operations need of them.
func (p *people) management() management.Deps {
	return management.Deps{
		Sessions:      management.Sessions{Service: p.sessions},
		Passwords:     management.Passwords{Service: p.sessions},
		Accounts:      management.Accounts{Service: p.sessions},
		Organizations: management.Organizations{Service: p.organizations},
	}
}
