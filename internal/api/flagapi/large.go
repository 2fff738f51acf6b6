package flagapi

import (
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// entryFrame is more than what an entry of a bulk, or the failure that one is, takes besides
// what is the flag's own, in bytes.
const entryFrame = 320

// entryBytes is how long the entry of a flag may be at most.
func entryBytes(f *flagset.Flag) (most int) {
	for i := range f.Definition.Variants {
		v := &f.Definition.Variants[i]
		most = max(most, len(v.Key)+len(v.Value)+len(v.Payload))
	}
	return entryFrame + len(f.Key()) + len(f.ID) + most
}

// outgrows reports whether a response is so large that its memory has to be claimed, and is
// not yet.
func (w *work) outgrows(body []byte) bool { return len(body) > keptBytes && !w.claimed }

// claimAll claims memory for all flags that the caller sees, and has the body grow into it.
// The claim is held until the client has the response. The error is a ServiceUnavailable error.
func (w *work) claimAll(c *fiber.Ctx, body []byte) ([]byte, error) {
	size := 0
	for f := range w.set.All(w.website.ID) {
		if w.sees(f) {
			size += entryBytes(f)
		}
	}
	return w.claimBytes(c, body, size)
}

// claimNamed is claimAll for the flags that the caller names.
func (w *work) claimNamed(c *fiber.Ctx, body []byte) ([]byte, error) {
	size := 0
	for _, key := range w.keys {
		if f := w.find(key); f != nil {
			size += entryBytes(f)
		}
	}
	return w.claimBytes(c, body, size)
}

func (w *work) claimBytes(c *fiber.Ctx, body []byte, size int) ([]byte, error) {
	size += responseFrame
	w.bill(c)
	if err := httpkit.Memory(c).Await(c.UserContext(), int64(size)); err != nil {
		return body, err
	}
	w.claimed = true
	httpkit.WhenSent(c, w.hold(c.UserContext()))
	return slices.Grow(body, max(0, size-len(body))), nil
}

// responseFrame is what a response takes besides its entries, in bytes, with what it tells of
// streams.
const responseFrame = 4 << 10
