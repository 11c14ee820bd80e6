//go:build cgo && libjpeg

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>
#include <jerror.h>

#include "shim.h"

struct bivouac_jpeg {
  struct jpeg_decompress_struct c; // first: callbacks get a pointer to it
  struct jpeg_error_mgr error;
  struct jpeg_source_mgr source;
  struct jpeg_progress_mgr progress;
  jmp_buf failed;
  int code;
  int max_scans;
  long long deadline; // 0: none
  char message[JMSG_LENGTH_MAX];
  JSAMPLE *row;
  size_t row_size;
};

static void fail(bivouac_jpeg *d, int code, const char *message) {
  d->code = code;
  snprintf(d->message, sizeof d->message, "%s", message);
  longjmp(d->failed, 1);
}

static void error_exit(j_common_ptr c) {
  bivouac_jpeg *d = (bivouac_jpeg *)c;
  switch (c->err->msg_code) {
  case JERR_OUT_OF_MEMORY:
    d->code = BIVOUAC_JPEG_EXHAUSTED;
    break;
  case JERR_ARITH_NOTIMPL:
  case JERR_BAD_PRECISION:
  case JERR_CCIR601_NOTIMPL:
  case JERR_CONVERSION_NOTIMPL:
  case JERR_NOT_COMPILED:
  case JERR_NOTIMPL:
  case JERR_SOF_UNSUPPORTED:
    d->code = BIVOUAC_JPEG_UNSUPPORTED;
    break;
  default:
    d->code = BIVOUAC_JPEG_CORRUPT;
  }
  c->err->format_message(c, d->message);
  longjmp(d->failed, 1);
}

// Damage that the format can live with is decoded as libjpeg does, in silence.
static void emit_message(j_common_ptr c, int level) {
  if (level < 0)
    c->err->num_warnings++;
}

static void output_message(j_common_ptr c) { (void)c; }

static long long now(void) { // in milliseconds
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void check_time(bivouac_jpeg *d) {
  if (d->deadline != 0 && now() >= d->deadline)
    fail(d, BIVOUAC_JPEG_LATE, "the time is over");
}

static void source_nop(j_decompress_ptr c) { (void)c; }

static boolean source_ends(j_decompress_ptr c) {
  // Rows that are not even begun need data that is not there. At the very end it could be bytes behind the scan
  // that were looked for.
  int ahead = 4 * c->max_v_samp_factor * DCTSIZE;
  int scanning = c->output_height > 0 && c->global_state > 202; // DSTATE_READY
  if (scanning && !jpeg_has_multiple_scans(c) && c->restart_interval == 0 && c->output_scanline + ahead < c->output_height)
    fail((bivouac_jpeg *)c, BIVOUAC_JPEG_CUT, "the data ends before the image does");
  fail((bivouac_jpeg *)c, BIVOUAC_JPEG_CORRUPT, "the data ends before the image does");
  return FALSE;
}

static void source_skip(j_decompress_ptr c, long n) {
  if (n <= 0)
    return;
  if ((size_t)n > c->src->bytes_in_buffer)
    source_ends(c);
  c->src->next_input_byte += n;
  c->src->bytes_in_buffer -= n;
}

// Every scan of a progressive image goes over all of its coefficients.
static void count_scans(j_common_ptr c) {
  bivouac_jpeg *d = (bivouac_jpeg *)c;
  check_time(d);
  if (d->c.input_scan_number > d->max_scans)
    fail(d, BIVOUAC_JPEG_EXHAUSTED, "too many scans");
}

bivouac_jpeg *bivouac_jpeg_new(void) {
  bivouac_jpeg *d = calloc(1, sizeof *d);
  if (d == NULL)
    return NULL;
  d->c.err = jpeg_std_error(&d->error);
  d->error.error_exit = error_exit;
  d->error.emit_message = emit_message;
  d->error.output_message = output_message;
  if (setjmp(d->failed)) {
    jpeg_destroy_decompress(&d->c);
    free(d);
    return NULL;
  }
  jpeg_create_decompress(&d->c);
  d->source.init_source = source_nop;
  d->source.fill_input_buffer = source_ends;
  d->source.skip_input_data = source_skip;
  d->source.resync_to_restart = jpeg_resync_to_restart;
  d->source.term_source = source_nop;
  d->c.src = &d->source;
  d->progress.progress_monitor = count_scans;
  d->c.progress = &d->progress;
  return d;
}

void bivouac_jpeg_free(bivouac_jpeg *d) {
  jpeg_destroy_decompress(&d->c);
  free(d->row);
  free(d);
}

const char *bivouac_jpeg_message(bivouac_jpeg *d) { return d->message; }

// Inks on white paper; Adobe's files hold 255 - ink.
static void inks(unsigned char *out, const JSAMPLE *in, int n, int bgr, int inverted) {
  for (int i = 0; i < n; i++, in += 4) {
    int v[3];
    for (int j = 0; j < 3; j++)
      v[j] = inverted ? in[3] * in[j] / 255 : (255 - in[3]) * (255 - in[j]) / 255;
    *out++ = v[bgr ? 2 : 0];
    *out++ = v[1];
    *out++ = v[bgr ? 0 : 2];
  }
}

static void set_output(j_decompress_ptr c, const bivouac_jpeg_window *r) {
  int ink = c->jpeg_color_space == JCS_CMYK || c->jpeg_color_space == JCS_YCCK;
  if (ink && r->format == BIVOUAC_JPEG_GRAY)
    fail((bivouac_jpeg *)c, BIVOUAC_JPEG_UNSUPPORTED, "gray of four inks");
  if (ink)
    c->out_color_space = JCS_CMYK;
  else if (r->format == BIVOUAC_JPEG_GRAY)
    c->out_color_space = JCS_GRAYSCALE;
  else
    c->out_color_space = r->format == BIVOUAC_JPEG_BGR ? JCS_EXT_BGR : JCS_EXT_RGB;
  c->dct_method = r->fast ? JDCT_FASTEST : JDCT_ISLOW;
  c->do_fancy_upsampling = TRUE;
}

// Columns outside the window are left out but for the block beside it on either
// side, whose chroma the upsampling of the window's edge takes in. Returns the
// first column that is decoded.
static int narrow(j_decompress_ptr c, const bivouac_jpeg_window *r) {
  int block = c->max_h_samp_factor * DCTSIZE;
  int left = r->x > block ? r->x - block : 0;
  int right = r->width - r->x - r->w > block ? r->x + r->w + block : r->width;
  JDIMENSION first = left, n = right - left;
  if (left > 0 || right < r->width)
    jpeg_crop_scanline(c, &first, &n);
  return first;
}

enum { most_rows = 8 }; // that are asked for at once: the library gives as many as it makes together

static void read_rows(bivouac_jpeg *d, unsigned char *dst, const bivouac_jpeg_window *r) {
  j_decompress_ptr c = &d->c;
  int first = narrow(c, r);
  int ink = c->out_color_space == JCS_CMYK;
  size_t channels = c->output_components, size = c->output_width * channels;
  size_t pitch = (size_t)r->w * (r->format == BIVOUAC_JPEG_GRAY ? 1 : 3);
  int direct = !ink && (int)c->output_width == r->w;
  if (!direct && d->row_size < size * most_rows) {
    free(d->row);
    d->row_size = 0;
    if ((d->row = malloc(size * most_rows)) == NULL)
      fail(d, BIVOUAC_JPEG_EXHAUSTED, "no memory for rows");
    d->row_size = size * most_rows;
  }
  if (r->y > 0)
    jpeg_skip_scanlines(c, r->y);
  for (int left = r->h; left > 0;) {
    JSAMPROW rows[most_rows];
    int n = left < most_rows ? left : most_rows;
    for (int i = 0; i < n; i++)
      rows[i] = direct ? dst + i * pitch : d->row + i * size;
    check_time(d);
    int got = jpeg_read_scanlines(c, rows, n);
    if (got < 1)
      fail(d, BIVOUAC_JPEG_CORRUPT, "a row is missing");
    for (int i = 0; i < got && !direct; i++) {
      const JSAMPLE *from = rows[i] + (r->x - first) * channels;
      if (ink)
        inks(dst + i * pitch, from, r->w, r->format == BIVOUAC_JPEG_BGR, c->saw_Adobe_marker);
      else
        memcpy(dst + i * pitch, from, pitch);
    }
    dst += got * pitch;
    left -= got;
  }
}

int bivouac_jpeg_decode(bivouac_jpeg *d, const unsigned char *data, size_t size, unsigned char *dst, bivouac_jpeg_window r) {
  j_decompress_ptr c = &d->c;
  if (setjmp(d->failed)) {
    jpeg_abort_decompress(c);
    return d->code;
  }
  d->source.next_input_byte = data;
  d->source.bytes_in_buffer = size;
  d->max_scans = r.max_scans;
  d->deadline = r.milliseconds > 0 ? now() + r.milliseconds : 0;
  c->output_height = 0;
  jpeg_read_header(c, TRUE);
  if ((int)c->image_width != r.width || (int)c->image_height != r.height)
    fail(d, BIVOUAC_JPEG_CORRUPT, "the size is not that of the first header");
  set_output(c, &r);
  jpeg_start_decompress(c);
  read_rows(d, dst, &r);
  if (c->output_scanline == c->output_height)
    jpeg_finish_decompress(c);
  else
    jpeg_abort_decompress(c);
  return BIVOUAC_JPEG_OK;
}
