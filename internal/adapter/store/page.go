package store

import (
	"strings"

	"github.com/uptrace/bun"
)

// pageLimit is the most rows of a list that names no limit.
const pageLimit = 1000

// page cuts one page out of a list that is ordered by id, which is the order of
// creation: the rows after an id, or with newest the rows before it, latest
// first. limit 0 means pageLimit, which is also the most.
func page(q *bun.SelectQuery, id string, newest bool, after string, limit int) *bun.SelectQuery {
	if limit <= 0 || limit > pageLimit {
		limit = pageLimit
	}
	order, beyond := "? ASC", "? > ?"
	if newest {
		order, beyond = "? DESC", "? < ?"
	}
	if after != "" {
		q = q.Where(beyond, bun.Ident(id), after)
	}
	return q.OrderExpr(order, bun.Ident(id)).Limit(int64(limit))
}

// escapeLike makes a text stand for itself in a pattern of LIKE … ESCAPE '!'.
func escapeLike(text string) string { return likeEscaper.Replace(text) }

var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")
