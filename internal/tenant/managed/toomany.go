package managed

import (
	"errors"
	"fmt"

	"github.com/millrace/millrace/internal/contract/apierr"
)

// ErrTooMany says that an organization has as many of something as it may have.
var ErrTooMany = errors.New("the organization has reached its limit")

// TooMany returns a QuotaExceeded error that names the limit.
func TooMany(what string, limit int) error {
	return &apierr.Error{
		Code: apierr.QuotaExceeded, Message: fmt.Sprintf("The organization has reached its "+
			"limit of %d %s", limit, what), Err: ErrTooMany,
	}
}
