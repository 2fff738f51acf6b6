package managed

import (
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// ErrTooMany says that an organization has as many of something as it may have.
var ErrTooMany = errors.New("as many as an organization may have")

// TooMany returns a QuotaExceeded error that names the limit.
func TooMany(what string, limit int) error {
	return &apierr.Error{
		Code: apierr.QuotaExceeded, Message: fmt.Sprintf("An organization may have %d %s", limit, what), Err: ErrTooMany,
	}
}
