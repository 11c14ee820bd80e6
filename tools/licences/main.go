// Command licences writes the licences of all that the command bivouac links, for
// `bivouac version --licenses`.
//
// It asks `go list` for the modules that are linked on each platform, and takes
// from the module cache every licence, notice and patent file that lies beside a
// linked package or in a directory above it. It fails for a module without a
// licence, and for a licence that it does not know.
//
// With -check it writes nothing. It fails when the file differs from what is
// linked on this machine, or names another version than go.mod.
package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// platforms are those whose modules are listed. A module that only one of them
// links is in the list too.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

func main() {
	root := flag.String("root", "..", "root of the repository")
	check := flag.Bool("check", false, "compare, write nothing")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	file := filepath.Join(root, "cmd", "bivouac", "licences.txt.gz")
	if check {
		return checkFile(root, file, runtime.GOOS+"/"+runtime.GOARCH)
	}
	modules, err := linked(root, platforms)
	if err != nil {
		return err
	}
	own, err := ownEntries(root)
	if err != nil {
		return err
	}
	text, err := render(append(own, modules...))
	if err != nil {
		return err
	}
	packed, err := pack(text)
	if err != nil {
		return err
	}
	return os.WriteFile(file, packed, 0o644)
}

// pack compresses the text, which takes a sixth of its bytes in the command then. The same text
// gives the same bytes.
func pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// unpack is the reverse of pack.
func unpack(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// checkFile compares the file with what is linked on one platform. It does not ask
// for other platforms: their modules need not be in the module cache.
func checkFile(root, file, platform string) error {
	b, err := os.ReadFile(file)
	if err == nil {
		b, err = unpack(b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	written, err := parse(string(b))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	modules, err := linked(root, []string{platform})
	if err != nil {
		return err
	}
	own, err := ownEntries(root)
	if err != nil {
		return err
	}
	versions, err := required(root)
	if err != nil {
		return err
	}
	for _, problem := range differences(written, append(own, modules...), versions) {
		fmt.Fprintln(os.Stderr, problem)
		err = fmt.Errorf("%s differs from what %s links (make generate)", file, platform)
	}
	return err
}
