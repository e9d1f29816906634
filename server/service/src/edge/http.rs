//! What a request must be before it is a call: HTTP/2 carries other things too.

use tonic::codegen::http::header::{ALLOW, CONTENT_TYPE};
use tonic::codegen::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

/// The header in which a request is named.
const REQUEST_ID: &str = "x-request-id";
/// The most bytes of a name that a caller may give its request.
const MAX_REQUEST_ID_BYTES: usize = 64;

/// Refuses what is no gRPC, in HTTP's own words.
pub(crate) fn only_grpc<B, R: Default>(request: &mut Request<B>) -> Result<(), Response<R>> {
    let refused = |code| {
        let mut response = Response::new(R::default());
        *response.status_mut() = code;
        response
    };
    if request.method() != Method::POST {
        let mut response = refused(StatusCode::METHOD_NOT_ALLOWED);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
        return Err(response);
    }
    if !is_grpc(request.headers()) {
        return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    Ok(())
}

/// Whether the content is protobuf over gRPC; parameters after a semicolon do not matter.
fn is_grpc(headers: &HeaderMap) -> bool {
    let Some(Ok(content)) = headers.get(CONTENT_TYPE).map(HeaderValue::to_str) else { return false };
    let content = content.split(';').next().unwrap_or_default().trim();
    content.eq_ignore_ascii_case("application/grpc") || content.eq_ignore_ascii_case("application/grpc+proto")
}

/// Takes a name away that cannot be written to a log, so that the request is given another.
pub(crate) fn proper_id<B>(mut request: Request<B>) -> Request<B> {
    let proper = |id: &HeaderValue| {
        (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
    };
    if !request.headers().get(REQUEST_ID).is_none_or(proper) {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(method: &str, content: Option<&str>) -> u16 {
        let mut request = Request::builder().method(method).uri("/a.B/C");
        if let Some(content) = content {
            request = request.header(CONTENT_TYPE, content);
        }
        let mut request = request.body(()).expect("a request");
        only_grpc::<_, ()>(&mut request).map_or_else(|refused| refused.status().as_u16(), |()| 200)
    }

    #[test]
    fn only_posts_of_protobuf_over_grpc_are_calls() {
        for good in ["application/grpc", "application/grpc+proto", "Application/GRPC; charset=utf-8"] {
            assert_eq!(code("POST", Some(good)), 200, "{good}");
        }
        for bad in ["application/grpc-web", "application/grpc+json", "application/json", "text/html", ""] {
            assert_eq!(code("POST", Some(bad)), 415, "{bad}");
        }
        assert_eq!(code("POST", None), 415);
        assert_eq!(code("GET", Some("application/grpc")), 405);
    }

    #[test]
    fn names_of_requests_are_short_and_printable() {
        let kept = |id: &[u8]| {
            let request = Request::builder().header(REQUEST_ID, id).body(()).expect("a request");
            proper_id(request).headers().contains_key(REQUEST_ID)
        };
        assert!(kept(b"a-1") && kept(&[b'a'; 64]));
        assert!(!kept(&[b'a'; 65]) && !kept(b"") && !kept(b"a b") && !kept("ä".as_bytes()));
    }
}
