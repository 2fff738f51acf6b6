package chserver

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// logRead is how much is read of what a run wrote to its log of errors.
	logRead = 64 << 10
	// wordsKept is how many lines of it tell of an end.
	wordsKept = 12
	fatal     = "<Fatal>"
)

// errorLog is what one run of the server writes to the log of errors. Its last
// words stand there and nowhere else: they are seconds older than its end.
type errorLog struct {
	path  string
	began os.FileInfo // the file when the run began; nil without one
}

func errorLogIn(dir string) errorLog {
	l := errorLog{path: filepath.Join(dir, "clickhouse.err.log")}
	if info, err := os.Stat(l.path); err == nil {
		l.began = info
	}
	return l
}

// written returns the end of what the run wrote. What cannot be read is nothing: it
// would only have explained something else.
func (l errorLog) written() string {
	f, err := os.Open(l.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := int64(0) // the server begins another file when one is full
	if l.began != nil && os.SameFile(l.began, info) {
		from = l.began.Size()
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, max(from, info.Size()-logRead), logRead))
	return string(text)
}

// epitaph takes from a log the sentence that explains an end, and the lines around
// it; both are empty where nothing tells of one.
func epitaph(log string) (sentence, lines string) {
	var kept []string
	var signal string
	for line := range strings.Lines(log) {
		_, said, found := strings.Cut(line, fatal)
		if !found {
			continue
		}
		if said = strings.TrimSpace(said); len(kept) < wordsKept {
			kept = append(kept, said)
		}
		switch {
		case sentence == "" && isException(said):
			_, sentence, _ = strings.Cut(said, ": ") // after the name of what logs
		case signal == "" && strings.Contains(said, "Received signal"):
			_, signal, _ = strings.Cut(said, ": ")
		}
	}
	if sentence == "" {
		sentence = signal
	}
	sentence, _, _ = strings.Cut(sentence, ", Stack trace (")
	return sentence, strings.Join(kept, "\n")
}

func isException(line string) bool {
	return strings.Contains(line, "DB::Exception") || strings.Contains(line, "Poco::Exception") ||
		strings.Contains(line, "std::exception")
}
