package main

import (
	"bytes"
	"context"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"time"

	bjpeg "github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/order"
)

// jpegDecode compares decoding to RGB with the entropy decoding and transform
// of the standard library, which stops before upsampling and colour.
func jpegDecode(_ context.Context, b *bench) (measurement, error) {
	photo, err := os.ReadFile(b.photo)
	if err != nil {
		return measurement{}, err
	}
	var d bjpeg.Decoder
	h, err := d.ReadHeader(photo)
	if err != nil {
		return measurement{}, err
	}
	dst := make([]byte, h.Width*h.Height*bjpeg.RGB.Channels())
	const images = 50
	repeat := func(f func() error) func(context.Context) (time.Duration, error) {
		return func(context.Context) (time.Duration, error) {
			return timed(func() error {
				for range images {
					if err := f(); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return measurement{
		title: "JPEG decoding, 1 thread", unit: "image", amount: images,
		contenders: []contender{
			{name: "image/jpeg, to YCbCr", baseline: true, once: repeat(func() error {
				_, err := jpeg.Decode(bytes.NewReader(photo))
				return err
			})},
			{name: "codec/jpeg, to RGB", once: repeat(func() error {
				h, err := d.ReadHeader(photo)
				if err != nil {
					return err
				}
				return d.Decode(dst, photo, h, bjpeg.Options{Orient: true})
			})},
		},
	}, nil
}

// permutation compares computed indices with a shuffled table, which must be
// made for each epoch and kept.
func permutation(_ context.Context, _ *bench) (measurement, error) {
	const n, count = 10_000_000, 1_000_000
	p := order.NewPermutation(n, order.Key(1, 0, "bench"))
	block := make([]int64, 1024)
	seen := int64(0)
	return measurement{
		title: "order of 10,000,000 samples", unit: "index", amount: count,
		contenders: []contender{
			{name: "table by Fisher-Yates", baseline: true, once: func(context.Context) (time.Duration, error) {
				took, err := timed(func() error {
					seen += int64(rand.New(rand.NewPCG(1, 1)).Perm(n)[0])
					return nil
				})
				return took * count / n, err
			}},
			{name: "one by one", once: func(context.Context) (time.Duration, error) {
				return timed(func() error {
					for i := range int64(count) {
						seen += p.At(i)
					}
					return nil
				})
			}},
			{name: "in blocks of 1024", once: func(context.Context) (time.Duration, error) {
				return timed(func() error {
					for at := int64(0); at < count; at += int64(len(block)) {
						p.Fill(at, block[:min(int64(len(block)), count-at)])
					}
					return nil
				})
			}},
		},
	}, nil
}
