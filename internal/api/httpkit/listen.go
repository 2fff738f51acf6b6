package httpkit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/platform/lifecycle"
)

// settle is how long a stop keeps idle connections open, so that a request
// already on its way finds somebody.
const settle = time.Second

// ListenComponent serves app at addr, host:port. Setting is the name of the setting
// that addr came from, for the message about an address that cannot be used.
//
// A stop rejects new connections, answers what was begun and what still arrives
// on open connections with Connection: close, and returns when all are closed.
// Live streams are ended at once; others that have not ended a while later are cut off.
func ListenComponent(name, addr, setting string, app *fiber.App, log *slog.Logger) lifecycle.Component {
	var ln *listener
	return lifecycle.Component{
		Name: name,
		Start: func(ctx context.Context) error {
			l, err := lifecycle.Listen(ctx, addr, setting)
			if err != nil {
				return err
			}
			ln = newListener(l, kitOf(app))
			log.LogAttrs(ctx, slog.LevelInfo, "listening", slog.String("part", name), slog.String("addr", l.Addr().String()))
			return nil
		},
		Run: func(ctx context.Context) error {
			served := make(chan error, 1)
			go func() { served <- app.Listener(ln) }()
			select {
			case err := <-served:
				return err
			case <-ctx.Done():
			}
			return drain(context.WithoutCancel(ctx), app, ln)
		},
		Stop: func(context.Context) error {
			if ln == nil {
				return nil
			}
			return ln.Close()
		},
	}
}

// drain ends the app. Its time is bounded by the deadlines of requests and
// connections, and by the lifecycle.
func drain(ctx context.Context, app *fiber.App, ln *listener) error {
	// In this order, because who is told to go comes back at once.
	err := ln.Close()
	k, wait := kitOf(app), settle
	if k != nil {
		k.draining.Store(true)
		wait = k.settle
	}
	ln.hurry()
	if k != nil {
		k.streams.endLive()
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	// Counted here: once its listener is closed, fasthttp counts one too few, and
	// would close the last connection as idle while a request is on its way.
	for end := time.Now().Add(wait); ln.open() > 0 && time.Now().Before(end); {
		<-tick.C
	}
	ln.closeUnused()
	if k != nil {
		defer time.AfterFunc(k.cutDelay, k.streams.cutAll).Stop()
	}
	return errors.Join(err, app.ShutdownWithContext(ctx))
}
