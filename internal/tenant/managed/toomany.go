package managed

import (
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/contract/fault"
)

// ErrTooMany says that an organization has as many of something as it may have.
var ErrTooMany = errors.New("as many as an organization may have")

// TooMany returns a QuotaExceeded fault that names the limit.
func TooMany(what string, limit int) error {
	return &fault.Error{
		Code: fault.QuotaExceeded, Message: fmt.Sprintf("An organization may have %d %s", limit, what), Err: ErrTooMany,
	}
}
