// Package tracker holds the files of the browser tracker: those built from src
// beside it, and those that earlier releases built.
//
// It promises that a name with a hash in it stands for the same bytes for as long
// as the file is kept, and that the checksum of a File is that of its content. It
// does not serve anything: the ingestion host does. How the files are built, and
// why they are committed, is said in README.md.
package tracker

import (
	"crypto/sha256"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// MaxScriptBytes is how large the script may be in gzip; the other file is
// loaded after it, when the page is at rest, and only where it is asked for.
const MaxScriptBytes = 6000

// hashLen is how many hexadecimal digits of a file's SHA-256 stand in its name.
const hashLen = 16

// The names of the files.
const (
	ScriptName = "tracker.js"
	ExtraName  = "tracker-extra.js"
)

//go:embed dist/*.js kept
var files embed.FS

// File is one file. It is shared and must not be changed.
type File struct {
	Name    string // such as "tracker.js"
	Hashed  string // the name that stands for this content: "tracker.<hash>.js"
	Content []byte // JavaScript in UTF-8
	// Integrity is the value of the attribute of the same name, "sha384-…".
	Integrity string
}

// Current returns the files of this build, the script first.
func Current() []*File { return load().current }

// Script returns the script of this build, which pages carry.
func Script() *File { return load().current[0] }

// Kept returns the files of earlier releases, which pages may still ask for by
// their hashed names.
func Kept() []*File { return load().kept }

type shelf struct{ current, kept []*File }

// load reads the embedded files once. They are part of the program: what is wrong
// with them is found by the tests of this package, not by its callers.
var load = sync.OnceValue(func() shelf {
	s, err := read(files)
	if err != nil {
		panic(err) //nolint:forbidigo // a program built from broken files cannot serve
	}
	return s
})

func read(from fs.FS) (shelf, error) {
	var s shelf
	for _, name := range []string{ScriptName, ExtraName} {
		content, err := fs.ReadFile(from, "dist/"+name)
		if err != nil {
			return s, err
		}
		s.current = append(s.current, newFile(name, content))
	}
	names, err := fs.Glob(from, "kept/*.js")
	if err != nil {
		return s, err
	}
	for _, name := range names {
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return s, err
		}
		stem, _, _ := strings.Cut(path.Base(name), ".")
		f := newFile(stem+".js", content)
		if f.Hashed != path.Base(name) {
			return s, fmt.Errorf("%s is not what its name says: its content is that of %s", name, f.Hashed)
		}
		s.kept = append(s.kept, f)
	}
	return s, nil
}

func newFile(name string, content []byte) *File {
	short, long := sha256.Sum256(content), sha512.Sum384(content)
	return &File{
		Name: name, Content: content,
		Hashed:    strings.TrimSuffix(name, ".js") + "." + hex.EncodeToString(short[:])[:hashLen] + ".js",
		Integrity: "sha384-" + base64.StdEncoding.EncodeToString(long[:]),
	}
}

// IsHash reports whether text can be the hash in a file's name.
func IsHash(text string) bool {
	if len(text) != hashLen {
		return false
	}
	for _, c := range text {
		if !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return true
}
