package download

import (
	"fmt"
	"io"

	"github.com/millrace/millrace/internal/analytics/export"
)

// encoder writes rows.
type encoder interface {
	// block writes the rows of a block.
	block(b *export.Block) error
	// end writes what follows the last row; next is the cursor to go on with,
	// empty at the end of the range.
	end(next string) error
}

// encoders make the files of each format.
var encoders = map[string]func(w io.Writer, q *export.Query) (encoder, error){
	"ndjson": newNDJSON, "csv": newCSV, "parquet": newParquet,
}

func newEncoder(w io.Writer, q *export.Query) (encoder, error) {
	open, ok := encoders[q.Format.Name]
	if !ok {
		return nil, fmt.Errorf("exporting %s: nothing writes %s", q.Kind.Name, q.Format.Name)
	}
	return open(w, q)
}
