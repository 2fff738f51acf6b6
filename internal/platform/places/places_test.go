package places

import (
	"errors"
	"testing"
)

func TestPlaces_BoundAllAndEachShare(t *testing.T) {
	t.Parallel()
	p := New(4)
	key := func(of string) Share { return Share{of, 2} }
	organization := Share{"org_1", 3}
	enter := func(shares ...Share) func() {
		t.Helper()
		leave, err := p.Enter(shares...)
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
	first := enter(key("key_1"), organization)
	enter(key("key_1"), organization)
	full := func(want string, shares ...Share) {
		t.Helper()
		_, err := p.Enter(shares...)
		share, ok := errors.AsType[*ShareError](err)
		if ok && share.Of != want || !ok && (want != "" || !errors.Is(err, ErrFull)) {
			t.Errorf("Enter(%v) = %v, want that %q is full", shares, err, want)
		}
	}
	full("key_1", key("key_1"), organization)
	enter(key("key_2"), organization)
	full("org_1", key("key_2"), organization)
	enter(key("key_3"), Share{"org_2", 3})
	full("", key("key_4"), Share{"org_2", 3})
	first()
	enter(key("key_1"), organization)
	if p.Taken() != p.Most() {
		t.Errorf("%d of %d places are taken", p.Taken(), p.Most())
	}
}

func TestPlaces_ForgetsThoseWhoLeft(t *testing.T) {
	t.Parallel()
	p := New(0)
	for range 100 {
		leave, err := p.Enter(Share{"key_1", 1})
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	if len(p.of) != 0 || p.Taken() != 0 {
		t.Errorf("%d shares and %d places are left", len(p.of), p.Taken())
	}
}
