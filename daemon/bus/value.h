/* Values that several methods send. These functions return what sd-bus returns.
 *
 * sd-bus poisons a message to which something could not be appended for lack of memory: whatever
 * follows fails, too, up to the sending. Therefore only the last result counts. (A descriptor that
 * could not be duplicated is the exception: the message goes on without it.) */
#ifndef FFTD_BUS_VALUE_H
#define FFTD_BUS_VALUE_H

#include <systemd/sd-bus.h>

#include "camera/request.h"
#include "filters/filter.h"
#include "fftd/ring.h"

/* Replaces bytes that are not UTF-8 by '?' and cuts to size. D-Bus closes a connection that carries
 * other text, and the name of a device or a truncated message may be such text. Returns `clean`. */
#define VALUE_TEXT_BYTES FILTER_TEXT_BYTES /* no text on the bus is longer than a filter */
const char *value_clean_text(char clean[VALUE_TEXT_BYTES], const char *text);

/* Append text that goes through value_clean_text: alone, or as an entry {sv}. */
int value_append_text(sd_bus_message *reply, const char *text);
int value_append_named_text(sd_bus_message *reply, const char *name, const char *text);

/* Appends a frame format as a{sv}, which is empty while no format is known. captured: the
 * fourcc and the size of the frames that the camera delivers, of which 0 is left out; or NULL.
 * origin: that of a frame, for its filter and time; or NULL. */
int value_append_format(sd_bus_message *reply, const struct fftd_format *format,
                        const struct fftd_format *captured, const struct snapshot_origin *origin);

/* Opens an entry of an {sv} dictionary whose value is an array, up to the array's first element:
 * three containers. contents: the type of an element. */
int value_open_array(sd_bus_message *reply, const char *name, const char *contents);

/* Closes the `count` innermost containers. */
int value_close_containers(sd_bus_message *reply, unsigned count);

/* Begins the reply to a call that returns one array. */
int value_begin_reply(sd_bus_message **ret, sd_bus_message *call, const char *contents);

/* Closes the array and sends the reply; and sends a message that is complete. Both free it in any
 * case; NULL is an error. */
int value_send_reply(sd_bus_message *reply);
int value_send(sd_bus_message *message);

/* Appends the stages of a struct filter_chain as an aa{sv}, from which clients draw sliders. */
int value_append_stages(sd_bus_message *reply, const void *value);

/* Appends an a(sddd): the name, the column, the row and the score of each template that the chain
 * looks for. It is empty if the chain has another number of templates than there are matches, which
 * then belong to another chain. */
int value_append_matches(sd_bus_message *reply, const struct filter_chain *chain,
                         const struct fftd_match *match, unsigned count);

#endif
