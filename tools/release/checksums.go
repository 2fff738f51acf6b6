package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// checksumsFile is what sha256sum --check reads.
const checksumsFile = "SHA256SUMS"

// writeChecksums lists the files that are published: those of the folder itself,
// not those in the folders below it.
func writeChecksums(_ context.Context, r *release) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, e := range entries {
		if e.IsDir() || e.Name() == checksumsFile {
			continue
		}
		sum, err := checksum(r.path(e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(r.path(checksumsFile), []byte(list.String()), 0o644)
}

func checksum(file string) (sum string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
