package main

import (
	"bytes"
	"context"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"time"

	bjpeg "github.com/bivouac-ml/bivouac/codec/jpeg"
	bpng "github.com/bivouac-ml/bivouac/codec/png"
	"github.com/bivouac-ml/bivouac/codec/raster"
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
	return measurement{
		title: "JPEG decoding, 1 thread", unit: "image", amount: images,
		contenders: []contender{
			{name: "image/jpeg, to YCbCr", baseline: true, once: repeat(images, func() error {
				_, err := jpeg.Decode(bytes.NewReader(photo))
				return err
			})},
			{name: "codec/jpeg, to RGB", once: repeat(images, func() error {
				h, err := d.ReadHeader(photo)
				if err != nil {
					return err
				}
				return d.Decode(dst, photo, h, bjpeg.Options{Orient: true})
			})},
		},
	}, nil
}

// repeat measures n calls.
func repeat(n int, f func() error) func(context.Context) (time.Duration, error) {
	return func(context.Context) (time.Duration, error) {
		return timed(func() error {
			for range n {
				if err := f(); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// pngDecode compares decoding to RGB with the standard library, which decodes to RGBA.
func pngDecode(_ context.Context, b *bench) (measurement, error) {
	data, err := os.ReadFile(b.photo)
	if err != nil {
		return measurement{}, err
	}
	photo, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return measurement{}, err
	}
	pixels := image.NewRGBA(photo.Bounds())
	draw.Draw(pixels, pixels.Rect, photo, pixels.Rect.Min, draw.Src)
	var file bytes.Buffer
	if err := png.Encode(&file, pixels); err != nil {
		return measurement{}, err
	}
	var img raster.Image
	const images = 20
	return measurement{
		title: "PNG decoding, 1 thread", unit: "image", amount: images,
		contenders: []contender{
			{name: "image/png, to RGBA", baseline: true, once: repeat(images, func() error {
				_, err := png.Decode(bytes.NewReader(file.Bytes()))
				return err
			})},
			{name: "codec/png, to RGB", once: repeat(images, func() error { return bpng.Decode(file.Bytes(), &img) })},
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
