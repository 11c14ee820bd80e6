// The part of libjpeg-turbo that package jpeg uses, without long jumps across
// Go frames: every function returns a code.
#ifndef BIVOUAC_JPEG_SHIM_H
#define BIVOUAC_JPEG_SHIM_H

#include <stddef.h>

typedef struct bivouac_jpeg bivouac_jpeg;

// What a call returns.
enum { BIVOUAC_JPEG_OK, BIVOUAC_JPEG_CORRUPT, BIVOUAC_JPEG_UNSUPPORTED, BIVOUAC_JPEG_EXHAUSTED,
       BIVOUAC_JPEG_CUT,  // corrupt: the file ends within the data of its only scan
       BIVOUAC_JPEG_LATE, // the time is over
};

// What the samples of the output are.
enum { BIVOUAC_JPEG_RGB, BIVOUAC_JPEG_GRAY, BIVOUAC_JPEG_BGR };

// A window of the image and how it is decoded.
typedef struct {
  int width, height; // of the whole image, as its header says
  int x, y, w, h;    // the window
  int format;
  int fast;          // the fast transform instead of the accurate one
  int max_scans;
  long long milliseconds; // that it may take; 0: any time
} bivouac_jpeg_window;

bivouac_jpeg *bivouac_jpeg_new(void); // NULL without memory
void bivouac_jpeg_free(bivouac_jpeg *d);

// Decodes the window to dst, h rows of w pixels without padding; four inks not to gray.
int bivouac_jpeg_decode(bivouac_jpeg *d, const unsigned char *data, size_t size, unsigned char *dst, bivouac_jpeg_window r);

// Why the last call failed.
const char *bivouac_jpeg_message(bivouac_jpeg *d);

#endif
