package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/millrace/millrace/tools/thirdparty"
)

// contextDir holds what the Dockerfile copies, below the folder of the release.
const contextDir = "context"

// accounts name the user that the images run as, for programs that look it up.
var accounts = map[string]string{
	"passwd": "root:x:0:0:root:/:/nonexistent\nmillrace:x:65532:65532:millrace:/var/lib/millrace:/nonexistent\n",
	"group":  "root:x:0:\nmillrace:x:65532:\n",
}

// stageContext lays out what goes into images, with the modes that it has there,
// whatever this machine's umask.
func stageContext(ctx context.Context, r *release) error {
	defer syscall.Umask(syscall.Umask(0o022))
	etc := r.path(contextDir, "common", "etc")
	doc := r.path(contextDir, "common", "usr", "share", "doc", "millrace")
	for name, text := range accounts {
		if err := put(filepath.Join(etc, name), []byte(text)); err != nil {
			return err
		}
	}
	if err := put(filepath.Join(etc, "ssl", "certs", "ca-certificates.crt"), authorities()); err != nil {
		return err
	}
	if err := put(filepath.Join(doc, licencesFile), []byte(thirdparty.Texts(r.parts))); err != nil {
		return err
	}
	for _, name := range []string{"LICENSE", "NOTICE"} {
		if err := copyFile(filepath.Join(doc, name), filepath.Join(r.root, name), 0o644); err != nil {
			return err
		}
	}
	for _, arch := range r.architectures() {
		if err := r.stagePrograms(ctx, arch); err != nil {
			return err
		}
	}
	return os.MkdirAll(r.path(contextDir, "data", "millrace"), 0o755)
}

// stagePrograms lays out the programs of an architecture, for the images that are
// asked for.
func (r *release) stagePrograms(ctx context.Context, arch string) error {
	for _, target := range r.images {
		var err error
		switch target {
		case "daemons":
			err = r.stageDaemons(arch)
		case "standalone":
			err = r.stageStandalone(ctx, arch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *release) stageDaemons(arch string) error {
	commands, err := r.commandNames()
	if err != nil {
		return err
	}
	for _, c := range commands {
		to := r.path(contextDir, arch, "daemons", c)
		if err := copyFile(to, r.path(staticDir, "linux", arch, c), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) stageStandalone(ctx context.Context, arch string) error {
	library, err := r.library(ctx, arch)
	if err != nil {
		return err
	}
	root := r.path(contextDir, arch, "standalone")
	if err := copyFile(filepath.Join(root, "lib", "libchdb.so"), library, 0o755); err != nil {
		return err
	}
	return copyFile(filepath.Join(root, "bin", "millrace"), r.path(programsDir, "linux", arch, "millrace"), 0o755)
}

// authorities are the certificates that Mozilla trusts for everything, as Go
// publishes them: those of this machine may have been changed.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
		}
	}
	return b.Bytes()
}

func put(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// copyFile links a file where the file system can, since the library is large.
func copyFile(to, from string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info, err := os.Stat(from); err == nil && info.Mode().Perm() == mode && os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, mode)
}
