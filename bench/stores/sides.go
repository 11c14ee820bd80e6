package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	drivers3 "github.com/bivouac-ml/bivouac/store/object/s3"
	"github.com/bivouac-ml/bivouac/tensor"
)

// side is a measurement. Sides that write come before those that read.
type side struct {
	name string
	run  func(ctx context.Context, b *bench) (result, error)
}

var sides []side

func init() {
	sides = []side{
		{"sdk upload", upload}, {"save", save},
		{"save in background", inBackground(false)}, {"save in background, local", inBackground(true)},
		{"sdk download", download}, {"restore", restore}, {"read unverified", read},
		{"process sdk download", download}, {"process restore", restore},
	}
}

// measure is one measurement. It prints the result.
func (b *bench) measure(ctx context.Context, name string) error {
	i := slices.IndexFunc(sides, func(s side) bool { return s.name == name })
	if i < 0 {
		return fmt.Errorf("no side %q", name)
	}
	r, err := sides[i].run(ctx, b)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// state returns arrays of 64 MiB with random bytes, so that nothing can be compressed.
func (b *bench) state() (map[string]any, []byte) {
	all := make([]byte, b.mib<<20)
	chacha := rand.NewChaCha8([32]byte{1})
	_, _ = chacha.Read(all) // never fails
	tree := map[string]any{}
	for i := 0; i < len(all); i += 64 << 20 {
		part := all[i:min(i+64<<20, len(all))]
		tree[fmt.Sprintf("w%02d", i>>26)] = tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(part)}, Data: part}
	}
	return tree, all
}

// timed measures time and memory of f.
func timed(f func() error) (r result, err error) {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return r, err
	}
	before, err := resident("VmRSS")
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return r, err
	}
	r.Seconds = time.Since(began).Seconds()
	peak, err := resident("VmHWM")
	r.Peak = peak - before
	return r, err
}

// resident returns a number of /proc/self/status in MiB.
func resident(name string) (float64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024, err
		}
	}
	return 0, errors.New("no " + name)
}

func (b *bench) manager(ctx context.Context) (*transfermanager.Client, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &b.endpoint, true })
	return transfermanager.New(client, func(o *transfermanager.Options) {
		o.Concurrency, o.PartSizeBytes = parallel, 8<<20
	}), nil
}

// upload is the SDK's upload of one object with all bytes.
func upload(ctx context.Context, b *bench) (result, error) {
	m, err := b.manager(ctx)
	if err != nil {
		return result{}, err
	}
	_, all := b.state()
	return timed(func() error {
		_, err := m.UploadObject(ctx, &transfermanager.UploadObjectInput{
			Bucket: aws.String(bucket), Key: aws.String("sdk"), Body: bytes.NewReader(all),
		})
		return err
	})
}

// memory is an io.WriterAt into memory.
type memory []byte

func (m memory) WriteAt(p []byte, off int64) (int, error) { return copy(m[off:], p), nil }

// download is the SDK's download of what upload made.
func download(ctx context.Context, b *bench) (result, error) {
	m, err := b.manager(ctx)
	if err != nil {
		return result{}, err
	}
	return timed(func() error {
		all := make(memory, b.mib<<20)
		_, err := m.DownloadObject(ctx, &transfermanager.DownloadObjectInput{
			Bucket: aws.String(bucket), Key: aws.String("sdk"), WriterAt: all,
		})
		return err
	})
}

func (b *bench) store(ctx context.Context) (store.Store, error) {
	driver, _, err := drivers3.Open(ctx, "s3://"+bucket+"?endpoint="+b.endpoint, drivers3.Options{})
	if err != nil {
		return nil, err
	}
	return object.New(driver, "", object.Options{Parallel: parallel}), nil
}

func save(ctx context.Context, b *bench) (result, error) {
	st, err := b.store(ctx)
	if err != nil {
		return result{}, err
	}
	tree, _ := b.state()
	return timed(func() error {
		return checkpoint.Save(ctx, "checkpoint", tree, &checkpoint.SaveOptions{Store: st, Overwrite: true})
	})
}

// inBackground measures how long the caller of a save in the background waits.
func inBackground(local bool) func(ctx context.Context, b *bench) (result, error) {
	return func(ctx context.Context, b *bench) (result, error) {
		path, o := "background", &checkpoint.SaveOptions{Overwrite: true}
		if local {
			path = filepath.Join(b.dir, path)
		} else {
			st, err := b.store(ctx)
			if err != nil {
				return result{}, err
			}
			o.Store = st
		}
		tree, _ := b.state()
		var blocked float64
		r, err := timed(func() error {
			began := time.Now()
			response, err := checkpoint.SaveAsync(ctx, path, tree, o)
			blocked = time.Since(began).Seconds()
			if err != nil {
				return err
			}
			_, err = response.Result(ctx)
			return err
		})
		r.Blocked = blocked
		return r, err
	}
}

// restore loads and verifies the checkpoint.
func restore(ctx context.Context, b *bench) (result, error) {
	st, err := b.store(ctx)
	if err != nil {
		return result{}, err
	}
	o := &checkpoint.LoadOptions{}
	o.File.Store = st
	return timed(func() error {
		n, err := checkpoint.Load(ctx, "checkpoint", o)
		if err == nil && n.Get("w00") == nil {
			err = errors.New("the checkpoint has no w00")
		}
		return err
	})
}

// read reads the data files of the checkpoint through the store, and verifies nothing.
func read(ctx context.Context, b *bench) (result, error) {
	st, err := b.store(ctx)
	if err != nil {
		return result{}, err
	}
	return timed(func() error {
		var files []store.Info
		for _, dir := range []string{"checkpoint/state/d", "checkpoint/state"} {
			for info, err := range st.List(ctx, dir) {
				if err != nil {
					return err
				}
				if !info.Dir {
					info.Name = dir + "/" + info.Name
					files = append(files, info)
				}
			}
		}
		var group sync.WaitGroup
		failures := make([]error, len(files))
		for i, info := range files {
			group.Go(func() {
				f, err := st.Open(ctx, info.Name)
				if err != nil {
					failures[i] = err
					return
				}
				failures[i] = errors.Join(f.ReadAt(ctx, make([]byte, f.Size()), 0), f.Close())
			})
		}
		group.Wait()
		return errors.Join(failures...)
	})
}

var _ io.WriterAt = memory{}
