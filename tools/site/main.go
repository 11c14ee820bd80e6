// Command site makes the documents of Bivouac a site of static files.
//
// It reads the pages that docs/README.md lists and what they link, checks every link, and writes
// HTML, an index for the search, a style and a script. The site asks no other server for anything.
// A dead link, a page that no list names, or an error without a remedy fails the build.
package main

import (
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// assets are the style and the script of all pages.
//
//go:embed assets
var assets embed.FS

func main() {
	root := flag.String("root", "../..", "root of the repository")
	out := flag.String("out", "", "directory to write; by default site below the root")
	flag.Parse()
	if *out == "" {
		*out = filepath.Join(*root, "site")
	}
	if err := build(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// build writes the site. It replaces an older site, and refuses a directory with other contents.
// The old site stays until the new one is whole.
func build(root, out string) error {
	if list, err := os.ReadDir(out); err == nil && len(list) > 0 {
		if _, err := os.Stat(filepath.Join(out, marker)); err != nil {
			return fmt.Errorf("%s: want a site or an empty directory, got other files (choose another -out)", out)
		}
	}
	s, err := read(root)
	if err != nil {
		return err
	}
	files, err := s.render()
	if err != nil {
		return err
	}
	err = fs.WalkDir(assets, "assets", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name], err = assets.ReadFile(name)
		}
		return err
	})
	if err != nil {
		return err
	}
	files[marker] = []byte("tools/site wrote this directory and replaces it.\n")
	fresh := out + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	for name, b := range files {
		name = filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.Rename(fresh, out); err != nil {
		return err
	}
	fmt.Printf("%s: %d pages, %d files\n", out, len(s.pages), len(files))
	return nil
}

// marker is the file by which a directory is known as a site.
const marker = ".bivouac-site"
