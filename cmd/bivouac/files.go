package main

import (
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// storedFile is a file of a checkpoint as the disk has it.
type storedFile struct {
	Name      string    `json:"name"`
	Bytes     int64     `json:"bytes"`
	Allocated int64     `json:"allocated"` // bytes on the disk
	Links     int       `json:"links"`     // names that it has; those in other steps that did not change it
	Modified  time.Time `json:"modified"`
}

// storage sums up the storage of a checkpoint.
type storage struct {
	Files       int   `json:"files"`
	Bytes       int64 `json:"bytes"`
	Allocated   int64 `json:"allocated"`
	LinkedFiles int   `json:"linked_files"` // that have other names too, in other steps as a rule
	LinkedBytes int64 `json:"linked_bytes"` // of these, bytes that stay when only this checkpoint is removed
}

// filesBelow lists the files of a checkpoint, which may be one file.
func filesBelow(path string) ([]storedFile, error) {
	var out []storedFile
	err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(path, name)
		if below == "." {
			below = filepath.Base(path)
		}
		links, allocated := inode(info)
		out = append(out, storedFile{Name: filepath.ToSlash(below), Bytes: info.Size(), Allocated: allocated, Links: links, Modified: info.ModTime().UTC()})
		return err
	})
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Subject: path, Err: err}
	}
	return out, nil
}

// sum sums up files.
func sum(files []storedFile) storage {
	s := storage{Files: len(files)}
	for _, f := range files {
		s.Bytes += f.Bytes
		s.Allocated += f.Allocated
		if f.Links > 1 {
			s.LinkedFiles++
			s.LinkedBytes += f.Bytes
		}
	}
	return s
}

// String says it in words.
func (s storage) String() string {
	text := strconv.Itoa(s.Files) + " files, " + size(s.Bytes) + ", " + size(s.Allocated) + " on the disk"
	if s.LinkedFiles > 0 {
		text += "; " + size(s.LinkedBytes) + " in " + strconv.Itoa(s.LinkedFiles) + " files that other checkpoints link too"
	}
	return text
}
