// Package photos makes images to measure with: JPEG files of about 500x375 pixels
// and 95 kB, with edges, gradients and noise at two scales, as photographs have
// them. The same number gives the same file.
package photos

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Image returns the pixels of image i, interleaved RGB.
func Image(i int) (rgb []byte, width, height int) {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	width, height = 480+r.IntN(41), 355+r.IntN(41)
	coarse := make([][3]float64, (width/4+1)*(height/4+1))
	for k := range coarse {
		coarse[k] = [3]float64{22 * r.NormFloat64(), 22 * r.NormFloat64(), 22 * r.NormFloat64()}
	}
	circles := make([]circle, 12)
	for k := range circles {
		circles[k] = circle{float64(r.IntN(width)), float64(r.IntN(height)), float64(5 + r.IntN(85)),
			[3]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}}
	}
	rgb = make([]byte, 3*width*height)
	period := 9 + float64(i%13)
	for y := range height {
		for x := range width {
			wave := 128 + 90*math.Sin(float64(x)/period+float64(y)/31)
			base := [3]float64{wave, 255 * float64(x) / float64(width), 255 * float64(y) / float64(height)}
			noise := coarse[y/4*(width/4+1)+x/4]
			for c := range base {
				rgb[3*(y*width+x)+c] = byte(math.Max(0, math.Min(255, base[c]+noise[c]+9*r.NormFloat64())))
			}
		}
	}
	for _, c := range circles {
		c.draw(rgb, width, height)
	}
	return rgb, width, height
}

type circle struct {
	x, y, radius float64
	colour       [3]byte
}

// draw paints a ring of three pixels.
func (c circle) draw(rgb []byte, width, height int) {
	for y := max(0, int(c.y-c.radius)); y < min(height, int(c.y+c.radius)+1); y++ {
		for x := max(0, int(c.x-c.radius)); x < min(width, int(c.x+c.radius)+1); x++ {
			d := math.Hypot(float64(x)-c.x, float64(y)-c.y)
			if d <= c.radius && d > c.radius-3 {
				copy(rgb[3*(y*width+x):], c.colour[:])
			}
		}
	}
}

// JPEG returns image i as a file: quality 90, colour at half the resolution.
func JPEG(i int) ([]byte, error) {
	rgb, width, height := Image(i)
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for p := range width * height {
		copy(img.Pix[4*p:], rgb[3*p:3*p+3])
		img.Pix[4*p+3] = 255
	}
	var out bytes.Buffer
	err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 90})
	return out.Bytes(), err
}

// Write makes images 0 to n-1 as files train/c0/0000.jpg … below dir, in eight
// classes, where they are not there yet.
func Write(dir string, n int) error {
	done := filepath.Join(dir, fmt.Sprintf("made-%d", n))
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	for i := range n {
		b, err := JPEG(i)
		if err != nil {
			return err
		}
		class := filepath.Join(dir, "train", fmt.Sprintf("c%d", i%8))
		if err := os.MkdirAll(class, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(class, fmt.Sprintf("%04d.jpg", i)), b, 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(done, nil, 0o666)
}
