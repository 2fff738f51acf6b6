package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/adapter/store"
	"github.com/millrace/millrace/internal/app/standalone"
	"github.com/millrace/millrace/internal/platform/config"
	"github.com/millrace/millrace/internal/resource/link"
)

func newLinks() *cobra.Command {
	cmd := &cobra.Command{Use: "links", Short: "Block short links and their target hosts"}
	cmd.AddCommand(newLinksBlock(), newLinksUnblock(), newLinksBlocks())
	return cmd
}

// listedBlock is a block as --json prints it.
type listedBlock struct {
	Kind      link.BlockKind `json:"kind"`
	Name      string         `json:"name"`
	Address   string         `json:"address,omitempty"` // of a short link
	Reason    string         `json:"reason"`
	CreatedAt *time.Time     `json:"createdAt"`
	CreatedBy string         `json:"createdBy"`
}

func newListedBlock(blocks *link.Blocks, b *link.Block) listedBlock {
	l := listedBlock{Kind: b.Kind, Name: b.Name, Reason: b.Reason, CreatedBy: b.CreatedBy}
	if b.Kind == link.BlockLink {
		l.Address = blocks.Address(b)
	}
	if !b.CreatedAt.IsZero() {
		l.CreatedAt = &b.CreatedAt
	}
	return l
}

// blocking is what block and unblock print with --json.
type blocking struct {
	listedBlock

	Blocked bool  `json:"blocked"`
	Changed bool  `json:"changed"` // whether it was not so before
	Links   int64 `json:"links"`   // that are not deleted
}

// blocksOf are the blocks of a store. The short links of one whose host no setting names are
// those of a standalone on this machine.
func blocksOf(s config.Settings, db *store.Store) *link.Blocks {
	return link.NewBlocks(standalone.LinkURL(s), db, nil)
}

func newLinksBlock() *cobra.Command {
	var reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "block TARGET",
		Short: "Block a short link, or all links that lead to a host",
		Long: `Blocks a short link, named by its address, or a target host with all its subdomains.
Within a second, every edge that serves short links responds as if a blocked link did not
exist. A new link cannot lead to a blocked host. The owners of a link see the block in its
status and in the audit log of their organization.`,
		Example: `  millrace links block https://go.example/sale-26 --reason "phishing, ticket 4711"
  millrace links block evil.example
  millrace links block 198.51.100.7 --json`,
		Args: cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error {
			blocks := blocksOf(s, db)
			done, err := blocks.Block(cmd.Context(), operator(), args[0], reason)
			if err != nil {
				return toldBlock(args[0], err)
			}
			if asJSON {
				return printRecord(cmd, blocking{newListedBlock(blocks, &done.Block), true, done.Changed, done.Links})
			}
			return printBlocked(cmd.OutOrStdout(), blocks, done)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "",
		"reason for the block, a `TEXT` of at most 255 characters that owners of a link see")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// toldBlock is what whoever typed a target is told of an error.
func toldBlock(target string, err error) error {
	if errors.Is(err, link.ErrNotFound) {
		return fmt.Errorf("%s: short link not found", target)
	}
	return fmt.Errorf("%s: %w", target, told(err))
}

func printBlocked(out io.Writer, blocks *link.Blocks, done *link.Blocking) error {
	state := "blocked"
	if !done.Changed {
		state = "already blocked since " + done.CreatedAt.Format(time.RFC3339) + ":"
	}
	if done.Kind == link.BlockLink {
		_, err := fmt.Fprintf(out, "%s short link %s\n", state, blocks.Address(&done.Block))
		return err
	}
	_, err := fmt.Fprintf(out, "%s host %s and its subdomains (short links that lead there: %d)\n",
		state, done.Name, done.Links)
	return err
}

func newLinksUnblock() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "unblock TARGET",
		Short: "Unblock a short link or a host",
		Long: `Removes a block of "millrace links block". TARGET is the address or host that was
blocked, or a target that "millrace links blocks" lists. Other blocks stay in force: a
link to a blocked host, or a subdomain of a blocked host, remains blocked.`,
		Example: `  millrace links unblock https://go.example/sale-26
  millrace links unblock evil.example`,
		Args: cobra.ExactArgs(1),
		RunE: withStore(func(cmd *cobra.Command, args []string, s config.Settings, db *store.Store) error {
			blocks := blocksOf(s, db)
			done, err := blocks.Unblock(cmd.Context(), operator(), args[0])
			if err != nil {
				return toldBlock(args[0], err)
			}
			if asJSON {
				return printRecord(cmd, blocking{newListedBlock(blocks, &done.Block), false, done.Changed, done.Links})
			}
			said := "unblocked"
			if !done.Changed {
				said = "was not blocked:"
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said, blocks.Address(&done.Block))
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newLinksBlocks() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "blocks",
		Short:   "List blocked links and hosts, oldest first",
		Example: `  millrace links blocks --json | jq -r 'select(.kind == "host").name'`,
		Args:    cobra.NoArgs,
		RunE: withStore(func(cmd *cobra.Command, _ []string, s config.Settings, db *store.Store) error {
			blocks := blocksOf(s, db)
			all, err := blocks.List(cmd.Context())
			if err != nil {
				return err
			}
			row, flush := table(io.Discard)
			if !asJSON {
				row, flush = table(cmd.OutOrStdout(), "KIND", "TARGET", "SINCE", "BY", "REASON")
			}
			for i := range all {
				b := &all[i]
				if asJSON {
					if err := printRecord(cmd, newListedBlock(blocks, b)); err != nil {
						return err
					}
					continue
				}
				row(b.Kind, blocks.Address(b), b.CreatedAt.Format(time.RFC3339), printable(b.CreatedBy), printable(b.Reason))
			}
			return flush()
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
