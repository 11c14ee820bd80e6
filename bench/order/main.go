// Command order measures shuffles: Bivouac's shuffles and the shuffles of the peers in compat,
// compared with Fisher-Yates.
//
//	go run ./bench/order [-quick] [-write docs/order.md]
//
// It prints tables, or puts them into a document, between its marks. Every number
// follows from seeds: another run prints the same.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("order", flag.ContinueOnError)
	fl.SetOutput(stderr)
	quick := fl.Bool("quick", false, "few sizes and permutations, to see that it works")
	write := fl.String("write", "", "the document to put the tables into")
	if fl.Parse(args) != nil || fl.NArg() != 0 {
		return 2
	}
	var tables bytes.Buffer
	if err := printTables(&tables, *quick); err != nil {
		fmt.Fprintln(stderr, "order:", err)
		return 1
	}
	if *write == "" {
		_, err := stdout.Write(tables.Bytes())
		return exit(stderr, err)
	}
	text, err := os.ReadFile(*write)
	if err != nil {
		return exit(stderr, err)
	}
	updated, err := between(string(text), tables.String())
	if err != nil {
		return exit(stderr, err)
	}
	return exit(stderr, os.WriteFile(*write, []byte(updated), 0o666))
}

func exit(stderr io.Writer, err error) int {
	if err != nil {
		fmt.Fprintln(stderr, "order:", err)
		return 1
	}
	return 0
}

// The marks of a document between which the tables are.
const (
	begin = "<!-- tables: go run ./bench/order -write docs/order.md -->\n"
	end   = "<!-- end of the tables -->\n"
)

// between replaces what is between the marks.
func between(text, tables string) (string, error) {
	head, rest, ok := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("no marks %q and %q", begin, end)
	}
	return head + begin + tables + end + tail, nil
}
