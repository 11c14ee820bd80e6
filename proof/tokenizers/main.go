// Tokenizers compares the ids of reader/tokenizer with the ids of Hugging Face's tokenizers.
//
//	python make.py FOLDER 100000      trains tokenizers, and writes documents and their ids
//	go run ./proof/tokenizers FOLDER
//
// It prints a line for each tokenizer, and ends with 1 if a document differs.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/reader/tokenizer"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tokenizers FOLDER")
		os.Exit(2)
	}
	same, err := compare(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "tokenizers:", err)
	}
	if err != nil || !same {
		os.Exit(1)
	}
}

// compare compares all tokenizers of a folder.
func compare(folder string) (same bool, err error) {
	documents, err := readLists(filepath.Join(folder, "documents.bin"), 1)
	if err != nil {
		return false, err
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.ids"))
	if err != nil || len(names) == 0 {
		return false, fmt.Errorf("no .ids in %s: %w", folder, err)
	}
	same = true
	for _, name := range names {
		ok, err := compareOne(strings.TrimSuffix(name, ".ids"), documents)
		if err != nil {
			return false, err
		}
		same = same && ok
	}
	return same, nil
}

func compareOne(name string, documents [][]byte) (bool, error) {
	t, err := tokenizer.Open(name + ".json")
	if err != nil {
		return false, err
	}
	lists, err := readLists(name+".ids", 4)
	if err != nil {
		return false, err
	}
	if len(lists) != len(documents) {
		return false, fmt.Errorf("%s: want the ids of %d documents, got %d", name, len(documents), len(lists))
	}
	var ids, want []int32
	total, size, wrong := 0, 0, 0
	begin := time.Now()
	for i, d := range documents {
		want = want[:0]
		for k := 0; k < len(lists[i]); k += 4 {
			want = append(want, int32(binary.LittleEndian.Uint32(lists[i][k:])))
		}
		if ids, err = t.Encode(d, ids[:0]); err != nil {
			return false, fmt.Errorf("%s: document %d: %w", name, i, err)
		}
		total, size = total+len(ids), size+len(d)
		if !slices.Equal(ids, want) {
			if wrong++; wrong <= 3 {
				fmt.Printf("%s: document %d: %q\n  want %v\n  got  %v\n", name, i, d, want, ids)
			}
		}
	}
	fmt.Printf("%-16s %6d documents, %d differ, %d ids, %.1f MB/s\n", filepath.Base(name), len(documents), wrong, total,
		float64(size)/1e6/time.Since(begin).Seconds())
	return wrong == 0, nil
}

// readLists reads lists: for each a number of elements, and the elements.
func readLists(path string, element int) (lists [][]byte, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for len(b) > 0 {
		if len(b) < 4 || int(binary.LittleEndian.Uint32(b)) > (len(b)-4)/element {
			return nil, fmt.Errorf("%s: want whole lists, got the end of the file", path)
		}
		n := int(binary.LittleEndian.Uint32(b)) * element
		lists, b = append(lists, b[4:4+n]), b[4+n:]
	}
	return lists, nil
}
