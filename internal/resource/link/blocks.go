package link

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/tenant/audit"
	"github.com/millrace/millrace/internal/tenant/displayname"
)

// BlockKind says what is blocked.
type BlockKind string

// The kinds of blocks: a short link, or a host that links lead to, with all below it.
const (
	BlockLink BlockKind = "link"
	BlockHost BlockKind = "host"
)

// MaxReasonLen is how long the reason of a block may be, in code points.
const MaxReasonLen = 255

// Block is what an operator has blocked.
type Block struct {
	Kind BlockKind
	// Name is what a short link is found by (KeyOn), or the HostKey of a host.
	Name      string
	Reason    string // empty for none
	CreatedAt time.Time
	CreatedBy string // the operator's account
	// Hostname is that of a short link's own domain, as long as there is one. It is read
	// with the block, and not kept.
	Hostname string
}

// Blocking is what has become of a block.
type Blocking struct {
	Block

	// Changed says that it was not so before.
	Changed bool
	// Links is how many links it concerns that are not deleted.
	Links int64
}

// BlockStore keeps what is blocked. Both mutating methods write the audit entry, and the
// change event for those who serve links, in the same transaction.
type BlockStore interface {
	// BlockLinks keeps a block, or returns the one that there is. A short link that there
	// is not is ErrNotFound.
	BlockLinks(ctx context.Context, by audit.By, b Block) (*Blocking, error)
	// UnblockLinks removes the block of a kind and a name, where there is one.
	UnblockLinks(ctx context.Context, by audit.By, b Block, now time.Time) (*Blocking, error)
	// ListBlocks returns all blocks, the earliest first.
	ListBlocks(ctx context.Context) ([]Block, error)
	// ServingDomain returns the domain that serves under a hostname, or ErrNotFound.
	ServingDomain(ctx context.Context, hostname string) (*ServedDomain, error)
}

// Blocks are an operator's word on which links lead nowhere. They are safe for concurrent
// use.
type Blocks struct {
	publicURL string
	store     BlockStore
	now       func() time.Time
}

// NewBlocks returns the blocks of a store. publicURL is that of Rules; now may be nil for
// time.Now.
func NewBlocks(publicURL string, store BlockStore, now func() time.Time) *Blocks {
	if now == nil {
		now = time.Now
	}
	return &Blocks{publicURL, store, now}
}

// Block blocks a target: the address of a short link, or a host. What is blocked already
// stays as it is. A target that is neither is a Validation error, a short link that there is
// not ErrNotFound.
func (b *Blocks) Block(ctx context.Context, by audit.By, target, reason string) (*Blocking, error) {
	block, err := b.named(ctx, target)
	if err != nil {
		return nil, err
	}
	if _, ok := parseHost(block.Name); block.Kind == BlockHost && !ok {
		return nil, b.reject("IDNA rejects the host")
	}
	if reason != "" {
		if block.Reason, err = displayname.Clean("reason", reason, MaxReasonLen); err != nil {
			return nil, err
		}
	}
	block.CreatedAt, block.CreatedBy = b.now().UTC(), by.Actor.ID
	done, err := b.store.BlockLinks(ctx, by, block)
	if err == nil {
		done.Hostname = block.Hostname
	}
	return done, err
}

// Unblock ends what Block did, also of a short link that there is not any more. A target
// that is not blocked is no error.
func (b *Blocks) Unblock(ctx context.Context, by audit.By, target string) (*Blocking, error) {
	block, err := b.named(ctx, target)
	if err != nil {
		return nil, err
	}
	return b.store.UnblockLinks(ctx, by, block, b.now().UTC())
}

// List returns all blocks, the earliest first.
func (b *Blocks) List(ctx context.Context) ([]Block, error) { return b.store.ListBlocks(ctx) }
