package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Format says how a file's events are written.
type Format string

// The formats.
const (
	NDJSON Format = "ndjson" // one JSON object a line
	CSV    Format = "csv"    // a row a event, with a header
)

// FormatOf returns the format that a file's name says.
func FormatOf(name string) (Format, error) {
	name = strings.ToLower(name)
	for _, ending := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, ending)
	}
	switch {
	case strings.HasSuffix(name, ".csv"):
		return CSV, nil
	case strings.HasSuffix(name, ".ndjson"), strings.HasSuffix(name, ".jsonl"), strings.HasSuffix(name, ".json"):
		return NDJSON, nil
	}
	return "", errors.New("the file name does not show the format: add --format ndjson or --format csv")
}

// source is a file to import.
type source struct {
	file     *os.File
	size     int64
	modified time.Time
	identity string       // of the content, as it stands in the file
	read     atomic.Int64 // bytes of the file
	close    func()       // of the decompression
}

// identityLen is how many bytes of the content's hash name it.
const identityLen = 16

// openSource opens a file and reads it once, to know it again.
func openSource(path string) (*source, error) {
	file, err := os.Open(path)
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // whoever asked knows the path
	}
	if err != nil {
		return nil, fmt.Errorf("opening the file: %w", err)
	}
	s := &source{file: file, close: func() {}}
	if err := s.identify(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func (s *source) identify() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("the path is not a regular file; use - to read standard input")
	}
	hash := sha256.New()
	if s.size, err = io.Copy(hash, s.file); err != nil {
		return fmt.Errorf("reading the file: %w", err)
	}
	s.modified, s.identity = info.ModTime(), hex.EncodeToString(hash.Sum(nil)[:identityLen])
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("reading the file again: %w", err)
	}
	return nil
}

// Read counts what is read.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	s.read.Add(int64(n))
	return n, err
}

// The beginnings of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// content returns what the file holds, decompressed.
func (s *source) content() (io.Reader, error) {
	magic := make([]byte, len(zstdMagic))
	n, err := s.file.ReadAt(magic, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	switch magic = magic[:n]; {
	case bytes.HasPrefix(magic, gzipMagic):
		in, err := gzip.NewReader(s)
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
		return in, nil
	case bytes.HasPrefix(magic, zstdMagic):
		in, err := zstd.NewReader(s, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxZstdWindow))
		if err != nil {
			return nil, fmt.Errorf("decompressing: %w", err)
		}
		s.close = in.Close
		return in, nil
	}
	return s, nil
}

// maxZstdWindow bounds what decompression keeps in memory.
const maxZstdWindow = 128 << 20

// Close lets go of the file.
func (s *source) Close() error {
	s.close()
	return s.file.Close()
}
