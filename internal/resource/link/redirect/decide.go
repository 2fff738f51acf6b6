package redirect

import (
	"context"
	"errors"
	"net/http"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/click"
)

// find looks for the link. Who has asked for too many that there are not is rejected before
// that, whatever they ask for: else the difference would tell them which there are.
func (h *Host) find(ctx context.Context, v *Visit) (bool, error) {
	if err := h.unknown.rejected(h.unknown.network(v.Addr), v.at); err != nil {
		return false, err
	}
	err := h.deps.Links.Find(ctx, v.key, v.at, &v.link)
	if errors.Is(err, link.ErrNotFound) {
		return h.nothing(v)
	}
	return false, err
}

// nothing answers for a slug whose link is not there, as far as the visitor may know.
func (h *Host) nothing(v *Visit) (bool, error) {
	if err := h.unknown.take(h.unknown.network(v.Addr), h.unknown.bytes(v.key), v.at); err != nil {
		return false, err
	}
	return v.missing()
}

// open asks whether the link is to be answered now.
func (h *Host) open(ctx context.Context, v *Visit) (bool, error) {
	if v.index.Blocked(&v.link) {
		return h.nothing(v)
	}
	v.passed = v.link.PasswordHash != "" && passes(&v.link, v.Pass, v.at)
	switch v.link.Status(v.at) {
	case link.Active:
	case link.Expired:
		return over(v)
	default:
		return h.nothing(v)
	}
	exhausted, err := h.exhausted(ctx, v)
	if err != nil || !exhausted {
		return false, err
	}
	return over(v)
}

// over answers for a link that has been open.
func over(v *Visit) (bool, error) {
	address := v.link.ExpiredURL
	if address == "" && v.domain != nil {
		address = v.domain.ExpiredURL
	}
	return v.lead(Elsewhere, address, apierr.Gone)
}

// preview shows what the link's owner has written to a program that asks for the sake of
// a preview.
func (h *Host) preview(_ context.Context, v *Visit) (bool, error) {
	if v.bot != click.BotPreview || v.link.Preview == (link.Preview{}) {
		return false, nil
	}
	v.Response = Response{Kind: Previewed, Status: http.StatusOK, Preview: v.link.Preview}
	h.note(v)
	return true, nil
}

// choose finds where the visitor is sent.
func (h *Host) choose(_ context.Context, v *Visit) (bool, error) {
	v.target.URL = v.link.URL
	if v.link.Targets != nil {
		v.target = v.link.Targets.Choose(v.known())
	}
	return false, nil
}

// redirect sends the visitor there.
func (h *Host) redirect(_ context.Context, v *Visit) (bool, error) {
	forward := v.Query
	if !v.link.ForwardQuery {
		forward = nil
	}
	v.room = appendLocation(v.room[:0], v.target.URL, &v.link.UTM, forward)
	v.Response = Response{Kind: Redirected, Status: v.link.RedirectStatus, Location: v.room}
	h.note(v)
	return true, nil
}

// note tells of a click, unless only the header of a response was wanted.
func (h *Host) note(v *Visit) {
	if h.deps.Clicks == nil || v.Head {
		return
	}
	v.click = click.Click{
		Link: &v.link, At: v.at, Addr: v.Addr, UserAgent: v.UserAgent, Visitor: v.visitor, Referrer: v.Referrer,
		Languages: v.Languages,
		Query:     v.Query, RuleID: v.target.RuleID, VariantID: v.target.VariantID, Bot: v.bot, Status: v.Response.Status,
		RequestID: v.ID,
	}
	h.deps.Clicks.Take(&v.click)
}
