/* fftd-pipewire: parses the options and runs the loop until a signal. */
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include <fftd/fftd.h>
#include <pipewire/pipewire.h>

#include "common/usage.h"
#include "node.h"

#define PROGRAM "fftd-pipewire"

struct pipewire_options {
    const char *camera;
    const char *description; /* NULL: made from the camera's name */
};

static const char help[] =
    "usage: fftd-pipewire [OPTION]...\n"
    "\n"
    "Makes a camera that fftd filters a video source of this desktop's PipeWire, so\n"
    "that its programs find it like any other camera. One process serves one camera.\n"
    "\n"
    "  -n, --name NAME          the daemon with this name, or a runtime directory\n"
    "                           (default: default)\n"
    "  -d, --description TEXT   what programs show (default: \"NAME (fftd)\")\n"
    "  -h, --help               show this help\n"
    "      --version            print the version\n"
    "\n"
    "While no program takes frames, none is read, and the camera can pause. While\n"
    "the daemon or PipeWire is away, fftd-pipewire waits. To read the camera of a\n"
    "service fftd@NAME, this user must be in the group fftd.\n"
    "\n"
    "Examples:\n"
    "  fftd --source pattern:moire & fftd-pipewire\n"
    "  systemctl --user enable --now fftd-pipewire@front    at each login\n"
    "  pw-cli ls Node          lists the node, fftd.default or fftd.front\n"
    "  gst-launch-1.0 pipewiresrc target-object=fftd.front ! fakesink\n"
    "\n"
    "See fftd-pipewire(1).";

static const struct usage_option known[] = {
    {"name", 'n', required_argument, offsetof(struct pipewire_options, camera), NULL, NULL},
    {"description", 'd', required_argument, offsetof(struct pipewire_options, description), NULL,
     NULL},
};

static void on_signal(void *userdata, int number)
{
    (void)number;
    pw_main_loop_quit(userdata);
}

static int serve(const struct pipewire_options *options)
{
    char camera[256], name[sizeof camera + 8], description[sizeof camera + 8];
    struct node *node;
    usage_name_camera(options->camera, camera, sizeof camera);
    snprintf(name, sizeof name, "fftd.%s", camera);
    snprintf(description, sizeof description, "%s (fftd)", camera);
    struct pw_main_loop *main_loop = pw_main_loop_new(NULL);
    if (main_loop == NULL) {
        perror("fftd-pipewire: cannot make a loop");
        return EX_OSERR;
    }
    struct pw_loop *loop = pw_main_loop_get_loop(main_loop);
    pw_loop_add_signal(loop, SIGINT, on_signal, main_loop);
    pw_loop_add_signal(loop, SIGTERM, on_signal, main_loop);
    const struct node_options more = {
        .camera = options->camera,
        .name = name,
        .description = options->description != NULL ? options->description : description,
    };
    int r = node_create(&node, loop, &more);
    if (r < 0) {
        fprintf(stderr, "fftd-pipewire: cannot start: %s\n", strerror(-r));
    } else {
        pw_main_loop_run(main_loop);
        node_destroy(node);
    }
    pw_main_loop_destroy(main_loop);
    return r < 0 ? EX_OSERR : EX_OK;
}

int main(int argc, char **argv)
{
    struct pipewire_options options = {.camera = "default"};
    int code =
        usage_begin(PROGRAM, help, known, sizeof known / sizeof known[0], &options, argc, argv);
    if (code == 0)
        code = usage_check_camera(PROGRAM, options.camera);
    if (code != 0)
        return code < 0 ? EX_OK : code;
    signal(SIGPIPE, SIG_IGN);
    pw_init(NULL, NULL);
    code = serve(&options);
    pw_deinit();
    return code;
}
