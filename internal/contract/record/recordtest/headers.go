package recordtest

import (
	"fmt"

	"github.com/millrace/millrace/internal/contract/record"
)

// ParseHeaders reads all headers of a record, as whoever consumes it does one by one.
func ParseHeaders(list []record.Header) (record.Headers, error) {
	var h record.Headers
	if len(list) > record.MaxHeaders {
		return record.Headers{}, fmt.Errorf("reading headers: %w", record.ErrTooManyHeaders)
	}
	for _, each := range list {
		if err := h.Set(each.Key, each.Value); err != nil {
			return record.Headers{}, err
		}
	}
	if err := h.Check(); err != nil {
		return record.Headers{}, err
	}
	return h, nil
}
