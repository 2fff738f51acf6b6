package credential

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/millrace/millrace/internal/platform/config"
)

// maxSecret is the size of a secret in a file, in bytes. Nothing that is one is
// larger; what is larger is another file.
const maxSecret = 64 << 10

// Secret returns a secret: its value, or what stands in the file where one is named,
// without the line break at its end. Key is the setting of the value.
func Secret(key string, value config.Secret, file string) (string, error) {
	if file == "" {
		return value.Reveal(), nil
	}
	text, err := read(key+"_file", file)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	if secret == "" {
		return "", rejectf(key+"_file", nil, "%s is empty", file)
	}
	return secret, nil
}

// read reads a file that a setting names.
func read(key, file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, rejectf(key, nil, "%s cannot be read: %v", file, cause(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return nil, rejectf(key, nil, "%s cannot be read: %v", file, cause(err))
	}
	if len(text) > maxSecret {
		return nil, rejectf(key, nil, "%s has more than %d KiB, which is no secret", file, maxSecret>>10)
	}
	return text, nil
}

// cause leaves out the path, which the sentence has.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// RejectionError says that the settings and a server do not fit: to wait would not help.
type RejectionError struct {
	Setting string // the one to look at
	Text    string // what is wrong with it
	Err     error  // what was seen; may be nil
}

// Error is one sentence.
func (r *RejectionError) Error() string {
	if r.Err == nil {
		return r.Setting + ": " + r.Text
	}
	return fmt.Sprintf("%s: %s (%v)", r.Setting, r.Text, r.Err)
}

// Unwrap returns what was seen.
func (r *RejectionError) Unwrap() error { return r.Err }

// Rejected reports whether an error tells of settings and a server that do not fit.
func Rejected(err error) bool {
	_, ok := errors.AsType[*RejectionError](err)
	return ok
}

// Reject returns a RejectionError.
func Reject(setting string, err error, text string) error { return &RejectionError{setting, text, err} }

func rejectf(setting string, err error, format string, args ...any) error {
	return Reject(setting, err, fmt.Sprintf(format, args...))
}
