package credential

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/platform/config"
)

const sesame = "open-sesame"

// write makes or replaces a file in a folder of the test's.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestASecretIsItsValueOrWhatStandsInTheFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"no line break":                {sesame, sesame},
		"one line break":               {sesame + "\n", sesame},
		"a line break of Windows":      {sesame + "\r\n", sesame},
		"only the last line break":     {sesame + "\n\n", sesame + "\n"},
		"what surrounds it is its own": {" " + sesame + "\t", " " + sesame + "\t"},
		"the largest":                  {strings.Repeat("x", maxSecret), strings.Repeat("x", maxSecret)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "secret")
			write(t, file, tc.text)
			if got, err := Secret("a.password", "another", file); err != nil || got != tc.want {
				t.Errorf("Secret() = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
	if got, err := Secret("a.password", sesame, ""); err != nil || got != sesame {
		t.Errorf("without a file: %q, %v", got, err)
	}
	if got, err := Secret("a.password", "", ""); err != nil || got != "" {
		t.Errorf("without both: %q, %v", got, err)
	}
}

func TestAFileIsReadAgainEachTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	for _, want := range []string{"first", "second"} {
		write(t, file, want+"\n")
		if got, err := Secret("a.password", "", file); err != nil || got != want {
			t.Errorf("Secret() = %q, %v, want %q", got, err, want)
		}
	}
	// As Kubernetes replaces what it mounts: by a name that leads elsewhere.
	dir := t.TempDir()
	write(t, filepath.Join(dir, "new"), "third")
	if err := errors.Join(os.Remove(file), os.Symlink(filepath.Join(dir, "new"), file)); err != nil {
		t.Fatal(err)
	}
	if got, err := Secret("a.password", "", file); err != nil || got != "third" {
		t.Errorf("Secret() = %q, %v, want the third", got, err)
	}
}

func TestAFileThatIsNoSecretIsRejectedWithoutItsContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name, text string) string {
		write(t, filepath.Join(dir, name), text)
		return filepath.Join(dir, name)
	}
	for name, tc := range map[string]struct{ file, says string }{
		"missing": {
			filepath.Join(dir, "none"), filepath.Join(dir, "none") + " cannot be read: no such file or directory",
		},
		"a folder":          {dir, dir + " cannot be read: is a directory"},
		"empty":             {at("empty", ""), filepath.Join(dir, "empty") + " is empty"},
		"a line break only": {at("blank", "\n"), filepath.Join(dir, "blank") + " is empty"},
		"larger than secrets": {
			at("large", sesame+strings.Repeat("x", maxSecret)),
			filepath.Join(dir, "large") + " has more than 64 KiB, which is no secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Secret("a.password", "another-secret", tc.file)
			if got != "" || !Rejected(err) || err.Error() != "a.password_file: "+tc.says {
				t.Errorf("Secret() = %q, %v, want a.password_file: %s", got, err, tc.says)
			}
			checkSilent(t, err)
		})
	}
}

// checkSilent expects that an error tells none of the secrets of these tests.
func checkSilent(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{sesame, "another-secret", "PRIVATE KEY"} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells a secret: %v", err)
		}
	}
}

func TestARejectionNamesTheSettingAndWhatWasSeen(t *testing.T) {
	t.Parallel()
	plain := Reject("a.password", nil, "is wrong")
	if got, want := plain.Error(), "a.password: is wrong"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	caused := fmt.Errorf("connecting: %w", Reject("a.password", fs.ErrPermission, "is wrong"))
	if got, want := caused.Error(), "connecting: a.password: is wrong (permission denied)"; got != want ||
		!errors.Is(caused, fs.ErrPermission) {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	r, ok := errors.AsType[*RejectionError](caused)
	if !ok || r.Setting != "a.password" || !Rejected(caused) || Rejected(fs.ErrPermission) || Rejected(nil) {
		t.Errorf("of %v: %+v, refused %v", caused, r, Rejected(caused))
	}
}

func TestFilesOfTLSAreRejectedBySetting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, none := filepath.Join(dir, "text"), filepath.Join(dir, "none")
	write(t, text, "-----BEGIN PRIVATE KEY-----\n"+sesame+"\n-----END PRIVATE KEY-----\n")
	for name, tc := range map[string]struct {
		cfg  config.TLS
		says string
	}{
		"no authority there": {
			config.TLS{CAFile: none}, "kafka.tls.ca_file: " + none + " cannot be read: no such file or directory",
		},
		"an authority that is none": {
			config.TLS{CAFile: text}, "kafka.tls.ca_file: " + text + " holds no certificate in PEM form",
		},
		"no certificate there": {
			config.TLS{CertFile: none, KeyFile: text}, "kafka.tls.cert_file: " + none + " cannot be read",
		},
		"no key there": {
			config.TLS{CertFile: text, KeyFile: none}, "kafka.tls.key_file: " + none + " cannot be read",
		},
		"no pair": {
			config.TLS{CertFile: text, KeyFile: text},
			"kafka.tls.cert_file: " + text + " and the key in " + text + " are no pair in PEM form",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Client("kafka.tls", tc.cfg, "kafka-1")
			if c != nil || !Rejected(err) || !strings.HasPrefix(err.Error(), tc.says) {
				t.Errorf("Client() = %v, want %s", err, tc.says)
			}
			checkSilent(t, err)
		})
	}
}
