/* How a frame takes part in a stack (filters/stack.h). */
#ifndef FFTD_CORE_STACK_PLACE_H
#define FFTD_CORE_STACK_PLACE_H

enum stack_place {
    STACK_JOINS,
    STACK_BEGINS,   /* a new stack, of which it is the first */
    STACK_LEFT_OUT, /* it is not seen; the stack is shown as it is */
};

#endif
