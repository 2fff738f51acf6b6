// Command texts prints the texts in the product that people read: help of settings, metrics and
// commands, descriptions of the API, log messages and error messages. Each line is
// "path:line: kind: text". With -sample it prints that many, chosen at random by -seed.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
)

func main() {
	sample := flag.Int("sample", 0, "number of texts to choose at random; 0 prints all")
	seed := flag.Uint64("seed", 1, "seed of the choice")
	flag.Parse()
	if err := run(*sample, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "texts:", err)
		os.Exit(1)
	}
}

func run(sample int, seed uint64) error {
	var all []text
	for _, root := range []string{"cmd", "internal", "sdk/go"} {
		found, err := textsBelow(root)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	out := bufio.NewWriter(os.Stdout)
	for _, t := range choose(all, sample, seed) {
		fmt.Fprintf(out, "%s:%d: %s: %s\n", t.path, t.line, t.kind, t.text)
	}
	return out.Flush()
}

// choose returns n texts in random order, or all of them if n is 0.
func choose(all []text, n int, seed uint64) []text {
	if n == 0 {
		return all
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}
