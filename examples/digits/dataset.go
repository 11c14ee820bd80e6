package digits

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/jpeg"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	// ImageSide is the extent of the images on disk, in pixels.
	ImageSide = 32
	quality   = 90
	// every testEvery-th sample of a class is for testing.
	testEvery = 5
	marker    = "digits.json"
)

// Dataset is a data set on disk.
//
//	Dir/train/0/0000.jpg …   class folders "0" … "9"
//	Dir/test/0/0009.jpg …
//	Dir/digits.json          written last: sizes and checksums of all files
type Dataset struct {
	Dir   string
	Train int // samples
	Test  int
	// Written is false when the data set was there already.
	Written bool
}

// TrainDir is the root of the class folders for training.
func (d Dataset) TrainDir() string { return filepath.Join(d.Dir, "train") }

// TestDir is the root of the class folders for testing.
func (d Dataset) TestDir() string { return filepath.Join(d.Dir, "test") }

// index is the contents of the marker.
type index struct {
	Version int              `json:"version"`
	Train   int              `json:"train"`
	Test    int              `json:"test"`
	Files   map[string]check `json:"files"` // by slash-separated path
}

type check struct {
	Size   int    `json:"size"`
	CRC32C uint32 `json:"crc32c"`
}

func checkOf(b []byte) check {
	return check{Size: len(b), CRC32C: crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))}
}

// WriteDataset writes the data set as dir, all of it or nothing: it grows in
// dir + ".partial" and is renamed when complete. A data set that is there
// already is verified, file by file, and left alone; what an interrupted call
// left is thrown away. progress, if not nil, is called after each sample.
//
// Errors: errs.Exists when dir is something else, errs.Corrupt naming the file
// when a file of the data set is damaged or missing, errs.Canceled.
func WriteDataset(ctx context.Context, dir string, progress func(done, total int)) (Dataset, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	switch _, err := os.Stat(dir); {
	case err == nil:
		return verifyDataset(ctx, dir, progress)
	case !errors.Is(err, fs.ErrNotExist):
		return Dataset{}, system(dir, err)
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return Dataset{}, system(partial, err)
	}
	ix, err := writeFiles(ctx, partial, progress)
	if err != nil {
		return Dataset{}, err
	}
	b, err := json.MarshalIndent(ix, "", " ")
	if err != nil {
		return Dataset{}, errs.Wrap("digits.WriteDataset", dir, err)
	}
	if err := os.WriteFile(filepath.Join(partial, marker), b, 0o666); err != nil {
		return Dataset{}, system(partial, err)
	}
	if err := os.Rename(partial, dir); err != nil {
		return Dataset{}, system(dir, err)
	}
	return Dataset{Dir: dir, Train: ix.Train, Test: ix.Test, Written: true}, nil
}

func writeFiles(ctx context.Context, root string, progress func(done, total int)) (index, error) {
	ix := index{Version: 1, Files: map[string]check{}}
	samples, err := readTable()
	if err != nil {
		return ix, err
	}
	for class := range Classes {
		for _, split := range []string{"train", "test"} {
			if err := os.MkdirAll(filepath.Join(root, split, strconv.Itoa(class)), 0o777); err != nil {
				return ix, system(root, err)
			}
		}
	}
	var perClass [Classes]int
	var buf bytes.Buffer
	for i := range samples {
		if err := ctx.Err(); err != nil {
			return ix, canceled(root, err)
		}
		d := &samples[i]
		split := "train"
		if perClass[d.class]++; perClass[d.class]%testEvery == 0 {
			split = "test"
			ix.Test++
		} else {
			ix.Train++
		}
		img := &image.Gray{Pix: d.enlarge(ImageSide), Stride: ImageSide, Rect: image.Rect(0, 0, ImageSide, ImageSide)}
		buf.Reset()
		if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}); err != nil {
			return ix, errs.Wrap("digits.WriteDataset", root, err)
		}
		name := split + "/" + strconv.Itoa(d.class) + "/" + fmt.Sprintf("%04d.jpg", i)
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.WriteFile(path, buf.Bytes(), 0o666); err != nil {
			return ix, system(path, err)
		}
		ix.Files[name] = checkOf(buf.Bytes())
		progress(i+1, len(samples))
	}
	return ix, nil
}

// verifyDataset reads every file that the marker of dir lists.
func verifyDataset(ctx context.Context, dir string, progress func(done, total int)) (Dataset, error) {
	b, err := os.ReadFile(filepath.Join(dir, marker))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir) {
		return Dataset{}, &errs.Error{Kind: errs.Exists, Op: "digits.WriteDataset", Subject: dir,
			Got: "something that is no digits data set", Remedy: "choose another directory, or remove it"}
	} else if err != nil {
		return Dataset{}, system(dir, err)
	}
	damaged := func(name, want, got string) error {
		return &errs.Error{Kind: errs.Corrupt, Op: "digits.WriteDataset", Subject: filepath.Join(dir, name), Want: want, Got: got,
			Remedy: "remove " + dir + " to have it written anew"}
	}
	var ix index
	if err := json.Unmarshal(b, &ix); err != nil {
		return Dataset{}, damaged(marker, "", err.Error())
	}
	if ix.Version != 1 || ix.Train < 1 || ix.Test < 1 || len(ix.Files) != ix.Train+ix.Test {
		return Dataset{}, damaged(marker, "version 1 with all files", fmt.Sprintf("version %d with %d files", ix.Version, len(ix.Files)))
	}
	done := 0
	for name, want := range ix.Files {
		if err := ctx.Err(); err != nil {
			return Dataset{}, canceled(dir, err)
		}
		if !filepath.IsLocal(name) {
			return Dataset{}, damaged(marker, "names below the directory", strconv.Quote(name))
		}
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return Dataset{}, damaged(name, "the file", "nothing")
		} else if err != nil {
			return Dataset{}, system(name, err)
		}
		if got := checkOf(b); got != want {
			return Dataset{}, damaged(name, fmt.Sprintf("%d bytes with CRC-32C %08x", want.Size, want.CRC32C),
				fmt.Sprintf("%d bytes with %08x", got.Size, got.CRC32C))
		}
		done++
		progress(done, len(ix.Files))
	}
	return Dataset{Dir: dir, Train: ix.Train, Test: ix.Test}, nil
}

func canceled(subject string, err error) error {
	return &errs.Error{Kind: errs.Canceled, Op: "digits.WriteDataset", Subject: subject, Err: err}
}

// system gives an error of the operating system its kind.
func system(subject string, err error) error {
	kind := errs.IO
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = errs.NotFound
	case errors.Is(err, fs.ErrPermission):
		kind = errs.Permission
	case errors.Is(err, errNoSpace), errors.Is(err, errQuota):
		kind = errs.Exhausted
	}
	return &errs.Error{Kind: kind, Op: "digits.WriteDataset", Subject: subject, Err: err}
}
