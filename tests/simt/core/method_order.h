/* method_order.h -- when the core may ask a method what: watched for every CUDA method that a plan takes. For programs linked with
 * --wrap=spti_method_find. */
#ifndef TESTS_SIMT_CORE_METHOD_ORDER_H
#define TESTS_SIMT_CORE_METHOD_ORDER_H

#ifdef __cplusplus
extern "C" {
#endif
extern char method_order_breach[160]; /* the first call out of order since the program began; "" if there was none */
extern int method_order_calls;        /* watched so far */
#ifdef __cplusplus
}
#endif
#endif
